#include "mpi/agree.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <hakobi/error.hpp>
#include <map>
#include <string>

#include "mpi/comm_state.hpp"
#include "mpi/singleton.hpp"

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

/// mpirun gives the environment to its own node's ranks alone.
TEST(Agree, PretendedNodesThatSomeRanksLackAreRefusedOnAll) {
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (const char* const of_others : {"", "2"}) {
        const std::string value = rank == 0 ? "1" : of_others;
        if (!value.empty()) setenv("HAKOBI_RANKS_PER_NODE", value.c_str(), 1);
        std::string text;
        try {
            Comm::duplicate(MPI_COMM_WORLD).free();
        } catch (const Error& error) {
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            text = error.what();
        }
        unsetenv("HAKOBI_RANKS_PER_NODE");
        if (size == 1) {
            EXPECT_EQ(text, "");
        } else {
            EXPECT_NE(text.find(std::string("HAKOBI_RANKS_PER_NODE differs between ranks: ") +
                                (*of_others == '\0' ? "0 to 1" : "1 to 2")),
                      std::string::npos)
                << text;
        }
    }
}

std::map<std::string, std::string> launchers_variables;
std::string words_where(int world_size, const std::map<std::string, std::string>& variables) {
    launchers_variables = variables;
    return words_of_singletons(world_size, [](const char* name) -> const char* {
        const auto found = launchers_variables.find(name);
        return found == launchers_variables.end() ? nullptr : found->second.c_str();
    });
}

TEST(Singletons, AreNamedOnceByTheFirstOfThem) {
    std::map<std::string, std::string> step{
        {"SLURM_NTASKS", "2"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_PROCID", "0"}};
    EXPECT_TRUE(words_where(1, step).starts_with("SLURM_NTASKS is 2, but MPI says 1 rank: "));
    EXPECT_EQ(words_where(2, step), "");
    step["OMPI_COMM_WORLD_SIZE"] = "1";  // mpirun in the step
    EXPECT_EQ(words_where(1, step), "");
    step.erase("OMPI_COMM_WORLD_SIZE");
    step["SLURM_PROCID"] = "1";
    EXPECT_EQ(words_where(1, step), "");
    EXPECT_TRUE(words_where(1, {{"PMI_SIZE", "3"}, {"PMI_RANK", "0"}}).starts_with("PMI_SIZE is 3, but MPI"));
}

TEST(Singletons, AreNoneInABatchScript) {
    EXPECT_EQ(words_where(1, {{"SLURM_NTASKS", "2"}, {"SLURM_PROCID", "0"}}), "");
    EXPECT_EQ(words_where(1, {}), "");
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
