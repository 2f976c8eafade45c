#include "mpi/global_clock.hpp"

#include <sched.h>

#include <limits>

#include "base/clock.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::mpi {
namespace {

constexpr int ask_tag = 7101;
constexpr int answer_tag = 7102;

void answer(MPI_Comm comm, int rank, int num_exchanges) {
    for (int i = 0; i < num_exchanges; ++i) {
        check(MPI_Recv(nullptr, 0, MPI_BYTE, rank, ask_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
        const double mine_s = now_s();
        check(MPI_Send(&mine_s, 1, MPI_DOUBLE, rank, answer_tag, comm), "MPI_Send");
    }
}

struct Estimate {
    double offset_s = 0, uncertainty_s = 0;
};

Estimate ask(MPI_Comm comm, int num_exchanges) {
    Estimate best{0, std::numeric_limits<double>::infinity()};
    for (int i = 0; i < num_exchanges; ++i) {
        double reference_s = 0;
        const double asked_s = now_s();
        check(MPI_Send(nullptr, 0, MPI_BYTE, 0, ask_tag, comm), "MPI_Send");
        check(MPI_Recv(&reference_s, 1, MPI_DOUBLE, 0, answer_tag, comm, MPI_STATUS_IGNORE), "MPI_Recv");
        const double got_s = now_s();
        if ((got_s - asked_s) / 2 < best.uncertainty_s) {
            best = {(asked_s + got_s) / 2 - reference_s, (got_s - asked_s) / 2};
        }
    }
    return best;
}

}  // namespace

GlobalClock GlobalClock::synchronize(const Comm& comm, int num_exchanges) {
    const CommState& state = comm.state();
    Estimate mine;
    // One node after the other: two at once would wait for each other at rank 0 and lengthen the round trips.
    for (int node = 0; node < state.nodes.count(); ++node) {
        const int asker = state.nodes.ranks[static_cast<std::size_t>(node)].front();
        if (node == state.nodes.of_rank.front()) continue;
        if (state.rank == 0) answer(state.internal, asker, num_exchanges);
        if (state.rank == asker) mine = ask(state.internal, num_exchanges);
    }
    double both[2] = {mine.offset_s, mine.uncertainty_s};
    check(MPI_Bcast(both, 2, MPI_DOUBLE, 0, state.node.comm), "MPI_Bcast");
    GlobalClock clock;
    clock.offset_s_ = both[0];
    clock.uncertainty_s_ = both[1];
    return clock;
}

double GlobalClock::agree_start(const Comm& comm, double delay_s) const {
    const double mine_s = to_global(now_s());
    double latest_s = 0;
    check(MPI_Allreduce(&mine_s, &latest_s, 1, MPI_DOUBLE, MPI_MAX, comm.state().internal), "MPI_Allreduce");
    return to_local(latest_s + delay_s);
}

void wait_until(double local_s, bool is_yielding) {
    while (now_s() < local_s) {
        if (is_yielding) sched_yield();
    }
}

}  // namespace hakobi::mpi
