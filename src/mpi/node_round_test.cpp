#include "mpi/node_round.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "base/thread.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"

namespace {
int num_allreduces = 0;
}

extern "C" int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm) {
    ++num_allreduces;
    return PMPI_Allreduce(from, to, count, type, op, comm);
}

namespace hakobi::mpi {
namespace {

class NodeRounds : public testing::Test {
  protected:
    ~NodeRounds() override { comm_.free(); }

    // Whether ranks exceed cores or not.
    NodeRound make() {
        SharedMemory memory;
        SharedMemory::Name name;
        if (comm_.rank() == 0) {
            EXPECT_TRUE(SharedMemory::create(NodeRound::bytes_needed(comm_.size()), memory).ok());
            name = memory.name();
        }
        MPI_Bcast(&name, sizeof name, MPI_BYTE, 0, comm_.handle());
        if (comm_.rank() != 0) {
            EXPECT_TRUE(SharedMemory::attach(name, memory).ok());
        }
        MPI_Barrier(comm_.handle());
        return {std::move(memory), comm_.rank(), comm_.size()};
    }

    Comm comm_ = Comm::duplicate(MPI_COMM_WORLD);
};

TEST_F(NodeRounds, GiveEveryRankTheResultOfItsOwnRound) {
    NodeRound round = make();
    for (std::int64_t i = 0; i < 300; ++i) {
        if (i % 100 == comm_.rank()) std::this_thread::sleep_for(std::chrono::milliseconds(2));
        std::int64_t sum = i * (comm_.rank() + 1);
        round.reduce(comm_, std::as_writable_bytes(std::span(&sum, 1)),
                     [](std::span<std::byte> into, std::span<const std::byte> row) {
                         std::int64_t a = 0, b = 0;
                         std::memcpy(&a, into.data(), sizeof a);
                         std::memcpy(&b, row.data(), sizeof b);
                         a += b;
                         std::memcpy(into.data(), &a, sizeof a);
                     });
        ASSERT_EQ(sum, i * comm_.size() * (comm_.size() + 1) / 2);
    }
}

TEST_F(NodeRounds, BringEachRanksBytesToAll) {
    NodeRound round = make();
    for (std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{200}, NodeRound::most_bytes}) {
        for (int root = 0; root < comm_.size(); ++root) {
            std::vector<std::byte> bytes(length, std::byte(comm_.rank()));
            round.broadcast(comm_, bytes, root);
            ASSERT_EQ(bytes, std::vector<std::byte>(length, std::byte(root)));
        }
    }
}

TEST_F(NodeRounds, ServeAgreementsWhereRanksExceedCores) {
    const int before = num_allreduces;
    const Status mine = comm_.rank() == comm_.size() - 1 ? Status(ErrorCode::no_space, "full") : Status();
    const Agreed good = agree(comm_, {});
    const Agreed bad = agree(comm_, mine);
    const bool is_crowded = comm_.size() > num_cores();
    EXPECT_EQ(num_allreduces - before, is_crowded ? 0 : 2);
    EXPECT_TRUE(good.status.ok());
    EXPECT_EQ(bad.status.text(), "full");
    EXPECT_EQ(bad.rank, comm_.size() - 1);
}

TEST_F(NodeRounds, LeaveLongBroadcastsToTheLibrary) {
    for (const std::size_t length : {0, 1, 4087, 4088, 4089, 100000}) {
        std::vector<std::byte> bytes(comm_.rank() == 0 ? length : 7, std::byte(comm_.rank() + 1));
        broadcast(comm_, bytes, 0);
        ASSERT_EQ(bytes, std::vector<std::byte>(length, std::byte{1}));
    }
}

TEST_F(NodeRounds, SetTheBitsOfAnyRank) {
    std::vector<std::byte> bits(9, std::byte{0});
    bits[8] = std::byte(1 << comm_.rank());
    node_bit_or(comm_, bits);
    EXPECT_EQ(bits[8], std::byte((1 << comm_.size()) - 1));
    EXPECT_EQ(bits[0], std::byte{0});
}

}  // namespace
}  // namespace hakobi::mpi
