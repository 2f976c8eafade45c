#include "mpi/global_clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "base/clock.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

/// A communicator whose ranks count as `ranks_per_node` a node, though they share this machine's clock.
Comm pretended_nodes(const char* ranks_per_node) {
    setenv("HAKOBI_RANKS_PER_NODE", ranks_per_node, 1);
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    return comm;
}

TEST(GlobalClock, OffsetBetweenRanksOfOneClockIsZeroWithinItsOwnUncertainty) {
    Comm comm = pretended_nodes("1");
    const GlobalClock clock = GlobalClock::synchronize(comm);
    // The ranks really read one clock, so the true offset is 0 and the bound must hold it.
    EXPECT_LE(std::abs(clock.offset_s()), clock.uncertainty_s() + 1e-9);
    EXPECT_EQ(clock.uncertainty_s() > 0, comm.rank() != 0);
    comm.free();
}

TEST(GlobalClock, RanksOfOneNodeHoldOneOffset) {
    Comm comm = pretended_nodes("2");
    const GlobalClock clock = GlobalClock::synchronize(comm, 8);
    double lowest = 0;
    double highest = 0;
    const double mine = clock.offset_s();
    MPI_Allreduce(&mine, &lowest, 1, MPI_DOUBLE, MPI_MIN, comm.state().node.comm);
    MPI_Allreduce(&mine, &highest, 1, MPI_DOUBLE, MPI_MAX, comm.state().node.comm);
    EXPECT_EQ(lowest, highest);
    EXPECT_DOUBLE_EQ(clock.to_local(clock.to_global(12.5)), 12.5);
    comm.free();
}

TEST(GlobalClock, AgreedStartIsOneMomentAfterEveryRanksCall) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const GlobalClock clock = GlobalClock::synchronize(comm);
    const double called_s = clock.to_global(now_s());
    const double start_s = clock.to_global(clock.agree_start(comm, 0.002));
    double lowest = 0;
    double highest = 0;
    double latest_call_s = 0;
    MPI_Allreduce(&start_s, &lowest, 1, MPI_DOUBLE, MPI_MIN, comm.handle());
    MPI_Allreduce(&start_s, &highest, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    MPI_Allreduce(&called_s, &latest_call_s, 1, MPI_DOUBLE, MPI_MAX, comm.handle());
    EXPECT_NEAR(lowest, highest, 1e-9);
    EXPECT_GE(lowest, latest_call_s + 0.002);
    wait_until(clock.to_local(start_s), true);
    EXPECT_GE(clock.to_global(now_s()), start_s);
    comm.free();
}

}  // namespace
}  // namespace hakobi::mpi
