#include "mpi/wait.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <vector>

#include "base/clock.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

constexpr int tag = 1;

char letter_of(int rank) {
    return static_cast<char>('a' + rank);
}

class WaitTest : public testing::Test {
  protected:
    void SetUp() override {
        comm_ = Comm::duplicate(MPI_COMM_WORLD);
        MPI_Comm node = comm_.state().node.comm;
        void* memory = nullptr;
        MPI_Aint bytes = comm_.node_rank() == 0 ? 4096 : 0;
        int unit = 1;
        ASSERT_EQ(MPI_Win_allocate_shared(bytes, unit, MPI_INFO_NULL, node, &memory, &window_), MPI_SUCCESS);
        ASSERT_EQ(MPI_Win_shared_query(window_, 0, &bytes, &unit, &memory), MPI_SUCCESS);
        if (comm_.node_rank() == 0) new (memory) FutexWord(0);
        barrier();
        word_ = static_cast<FutexWord*>(memory);
    }
    void TearDown() override {
        MPI_Win_free(&window_);
        comm_.free();
    }
    void barrier() { MPI_Barrier(comm_.state().node.comm); }
    Comm comm_;
    MPI_Win window_ = MPI_WIN_NULL;
    FutexWord* word_ = nullptr;
};

// Each rank but the last sends to the next, which waits here with the receive pending; the sends end only
// when their receivers progress MPI. Memory that receives nothing stays as it is.
TEST_F(WaitTest, MovesMessagesThatAreReceivedByWhoWaits) {
    const int rank = comm_.rank(), size = comm_.size();
    for (const int bytes : {0, 1, 1000, 1 << 16, 4 << 20}) {
        const auto size_of_message = static_cast<std::size_t>(bytes);
        std::vector<char> in(size_of_message + 1, '-'), out(size_of_message + 1, letter_of(rank));
        MPI_Request request = MPI_REQUEST_NULL;
        if (rank > 0) MPI_Irecv(in.data(), bytes, MPI_BYTE, rank - 1, tag, comm_.handle(), &request);
        if (rank < size - 1 && rank % 2 == 0)
            MPI_Ssend(out.data(), bytes, MPI_BYTE, rank + 1, tag, comm_.handle());
        const auto before = static_cast<std::uint32_t>(size);
        word_->fetch_add(1);
        futex_wake_all(*word_);
        wait_until(comm_, *word_, {}, [before](std::uint32_t n) { return n >= before; });
        if (rank < size - 1 && rank % 2 != 0)
            MPI_Ssend(out.data(), bytes, MPI_BYTE, rank + 1, tag, comm_.handle());
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        std::vector<char> expected(size_of_message + 1, '-');
        if (rank > 0) std::fill_n(expected.begin(), bytes, letter_of(rank - 1));
        EXPECT_TRUE(in == expected) << bytes << " bytes";
        barrier();
        if (rank == 0) word_->store(0);
        barrier();
    }
}

// A message of the library's own that nobody has asked for yet is in no poll's way.
TEST_F(WaitTest, MovesMessagesBesideOneThatLiesThere) {
    if (comm_.size() < 2) GTEST_SKIP() << "nobody sends";
    if (comm_.rank() == 0) {
        const char internal = 'i', users = 'u';
        MPI_Send(&internal, 1, MPI_BYTE, 1, tag, comm_.state().internal);
        MPI_Ssend(&users, 1, MPI_BYTE, 1, tag, comm_.handle());
        word_->store(1);
        futex_wake_all(*word_);
    } else if (comm_.rank() == 1) {
        char internal = '-', users = '-';
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Irecv(&users, 1, MPI_BYTE, 0, tag, comm_.handle(), &request);
        wait_until(comm_, *word_, {}, [](std::uint32_t n) { return n == 1; });
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        EXPECT_EQ(users, 'u');
        MPI_Recv(&internal, 1, MPI_BYTE, 0, tag, comm_.state().internal, MPI_STATUS_IGNORE);
        EXPECT_EQ(internal, 'i');
    }
    barrier();
}

TEST_F(WaitTest, ReturnsWhenTheWordChanges) {
    const Patience patience{.spins = 3, .yields = 3};
    if (comm_.rank() == 0) {
        Wait wait(comm_, patience);
        EXPECT_TRUE(wait.is_patient());
        for (int i = 0; i < 20; ++i) wait.pause(*word_, 0);
        EXPECT_FALSE(wait.is_patient());
        word_->store(7);
        futex_wake_all(*word_);
    } else {
        wait_until(comm_, *word_, patience, [](std::uint32_t n) { return n == 7; });
        EXPECT_EQ(word_->load(), 7U);
    }
    barrier();
}

// As if rank 0's process had ended: run by a test of its own, which reads what is printed.
TEST_F(WaitTest, DISABLED_EndsTheProgramWhenARankHasDied) {
    if (comm_.rank() == 0) --comm_.state().node.processes[0].start_ticks;
    if (comm_.rank() == 0) wait_until(comm_, *word_, {}, [](std::uint32_t n) { return n == 7; });
    barrier();
}

}  // namespace
}  // namespace hakobi::mpi
