#include "node/apart.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/messages.hpp"
#include "node/node_window.hpp"

namespace {

std::thread::id may_not_call;
std::atomic<int> num_calls{0};

void note() {
    if (std::this_thread::get_id() == may_not_call) ++num_calls;
}

}  // namespace

// Collective calls of MPI, counted on the thread that may make none.
extern "C" {
int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm) {
    note();
    return PMPI_Allreduce(from, to, count, type, op, comm);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    note();
    return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Gather(const void* from, int num, MPI_Datatype type, void* to, int num_to, MPI_Datatype type_to,
               int root, MPI_Comm comm) {
    note();
    return PMPI_Gather(from, num, type, to, num_to, type_to, root, comm);
}
}

namespace hakobi::node {
namespace {

/// Runs `body(apart)` on a thread of each rank while its program waits in MPI.
template <class Body>
void run_apart(const Body& body) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    Comm apart;
    ASSERT_TRUE(make_apart(comm, apart).ok());
    std::atomic<bool> may_start{false};
    num_calls = 0;
    std::thread thread([&] {
        while (!may_start) std::this_thread::yield();
        body(apart);
    });
    may_not_call = thread.get_id();
    may_start = true;
    PMPI_Barrier(MPI_COMM_WORLD);
    thread.join();
    may_not_call = {};
    EXPECT_EQ(num_calls, 0);
    apart.free();
    comm.free();
}

TEST(Apart, EveryRankGetsWhatEachBrings) {
    run_apart([](const Comm& apart) {
        for (const std::size_t factor : {1U, 0U, 5000U, 3U}) {  // a part holds somewhat less than 4096
            std::vector<std::byte> mine(factor * static_cast<std::size_t>(apart.rank()),
                                        static_cast<std::byte>(apart.rank()));
            const auto all = apart.state().apart->all_gather(mine);
            ASSERT_EQ(all.size(), static_cast<std::size_t>(apart.size()));
            for (std::size_t r = 0; r < all.size(); ++r)
                EXPECT_EQ(all[r], std::vector<std::byte>(factor * r, static_cast<std::byte>(r)));
        }
    });
}

TEST(Apart, RanksAgreeOnTheWorstErrorOfTheLowestRank) {
    run_apart([](const Comm& apart) {
        EXPECT_TRUE(mpi::agree(apart, {}).status.ok());
        const int first = apart.size() > 1 ? 1 : 0;
        const Status mine = apart.rank() >= first
                                ? Status(ErrorCode::no_space, "full at " + std::to_string(apart.rank()))
                                : Status(ErrorCode::invalid_argument, "no such count");
        const mpi::Agreed agreed = mpi::agree(apart, mine);
        EXPECT_EQ(agreed.status.code(), ErrorCode::no_space);
        EXPECT_EQ(agreed.rank, first);
        EXPECT_EQ(agreed.status.text(), "full at " + std::to_string(first));
    });
}

TEST(Apart, MaximaAndTheRootsBytesReachAll) {
    run_apart([](const Comm& apart) {
        std::vector<std::int64_t> values{apart.rank(), -apart.rank(), 7};
        mpi::all_max(apart, values);
        EXPECT_EQ(values, (std::vector<std::int64_t>{apart.size() - 1, 0, 7}));
        std::vector<std::byte> bytes(apart.rank() == 0 ? 10000 : 3, std::byte{9});
        mpi::broadcast(apart, bytes, 0);
        EXPECT_EQ(bytes, std::vector<std::byte>(10000, std::byte{9}));
        const auto gathered = mpi::gather(apart, std::span(bytes).first(2), 0);
        EXPECT_EQ(gathered.size(), apart.rank() == 0 ? static_cast<std::size_t>(apart.size()) : 0);
    });
}

TEST(Apart, WindowsAreShared) {
    run_apart([](const Comm& apart) {
        NodeWindow window;
        ASSERT_TRUE(NodeWindow::allocate(apart, 1 << 20, window).ok());
        window.data()[apart.rank()] = static_cast<std::byte>(apart.rank() + 1);
        (void)mpi::agree(apart, {});
        for (int r = 0; r < apart.size(); ++r) EXPECT_EQ(window.data()[r], static_cast<std::byte>(r + 1));
        (void)mpi::agree(apart, {});
        window.free();
    });
}

}  // namespace
}  // namespace hakobi::node
