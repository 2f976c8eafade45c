#include "mpi/agree.hpp"

#include <gtest/gtest.h>

#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

TEST(Agree, NobodyFailedIsSuccessEverywhere) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    EXPECT_TRUE(agree(comm, {}).status.ok());
    comm.free();
}

TEST(Agree, TheMostSevereCodeOfTheLowestRankReachesEveryRank) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Status mine(ErrorCode::permission, "refused on rank " + std::to_string(comm.rank()));
    if (comm.rank() >= comm.size() - 2) {
        mine = Status(ErrorCode::no_space, "full on rank " + std::to_string(comm.rank()));
    }
    const Agreed agreed = agree(comm, mine);
    const int lowest = std::max(0, comm.size() - 2);
    EXPECT_EQ(agreed.status.code(), ErrorCode::no_space);
    EXPECT_EQ(agreed.rank, lowest);
    EXPECT_EQ(agreed.status.text(), "full on rank " + std::to_string(lowest));
    comm.free();
}

TEST(Comm, EveryRankIsOnExactlyOneNode) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    int total = 0;
    for (const auto& ranks : comm.state().nodes.ranks) total += static_cast<int>(ranks.size());
    EXPECT_EQ(total, comm.size());
    const auto& mine = comm.state().nodes.own_ranks();
    EXPECT_EQ(mine.at(static_cast<std::size_t>(comm.node_rank())), comm.rank());
    comm.free();
}

}  // namespace
}  // namespace hakobi::mpi
