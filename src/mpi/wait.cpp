#include "mpi/wait.hpp"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "base/thread.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/under_way.hpp"

namespace hakobi::mpi {
namespace {

// A round of a node's ranks that share cores takes less: there a wait seldom gets as far as MPI.
constexpr double first_sleep_s = 1e-4;
constexpr double longest_apart_s = 0.1;
constexpr double between_looks_s = 1.0;  // at the other processes
// A poll that finds nothing takes 0.3 us (Open MPI 4.1) to 1 us (MPICH 4.0). One that worked so long may have
// moved something, and there may be more of it: a long message's fragments come a few with each poll. Its own
// time alone counts: where cores are shared, a poll of Open MPI leaves the core to others.
constexpr double busy_poll_s = 5e-6;
constexpr int most_polls = 8;  // in a row

void poll(const CommState& state) {
    int is_there = 0;
    // No message has this tag: one that is there already would be found without progress. Below any tool: a
    // recorder would count calls that the program did not make.
    PMPI_Iprobe(MPI_ANY_SOURCE, state.highest_tag, state.internal, &is_there, MPI_STATUS_IGNORE);
}

bool is_mpi_up() {
    int is_initialized = 0, is_finalized = 0;
    PMPI_Initialized(&is_initialized);
    PMPI_Finalized(&is_finalized);
    return is_initialized != 0 && is_finalized == 0;
}

// Waking and looking after MPI takes some 4 us of a core. Beyond so many ranks a core they sleep longer, so
// that together they take no more of it: 256 ranks on two cores would need more than one (decision 68).
constexpr int ranks_of_a_core = 8;

double crowding_of(const Comm& comm) {
    return comm ? std::max(1.0, static_cast<double>(comm.node_size()) / (ranks_of_a_core * num_cores()))
                : 1.0;
}

void sleep_for(double seconds) {
    timespec time{};
    time.tv_nsec = static_cast<long>(seconds * 1e9);
    nanosleep(&time, nullptr);
}

}  // namespace

bool progress(const Comm& comm) {
    if (!comm || comm.state().apart || !is_mpi_up()) return false;
    poll(comm.state());
    return UnderWay::look_at_all();
}

void Wait::doze(FutexWord* word, std::uint32_t seen) {
    if (sleep_s_ > 0) {
        const double start_s = thread_cpu_s();
        if (progress(comm_)) return;
        if (thread_cpu_s() - start_s > busy_poll_s && ++num_busy_polls_ < most_polls) return;
        num_busy_polls_ = 0;
        look_for_the_dead(now_s());
        sleep_s_ = std::min(2 * sleep_s_, most_sleep_s_);
    } else {
        looked_s_ = now_s();
        const double crowding = crowding_of(comm_);
        // Apart from MPI there is nothing to look after between wake-ups.
        const bool is_apart = comm_ && comm_.state().apart && word != nullptr;
        most_sleep_s_ = is_apart ? longest_apart_s : crowding * most_sleep_s_;
        sleep_s_ = std::min(crowding * first_sleep_s, most_sleep_s_);
    }
    if (word != nullptr) {
        futex_wait(*word, seen, sleep_s_);
    } else {
        sleep_for(sleep_s_);
    }
}

void Wait::yield() {
    if (patience_.spins > 0) {
        --patience_.spins;
        spin_pause();
        return;
    }
    const double at_s = now_s();
    if (looked_s_ == 0) looked_s_ = at_s;
    look_for_the_dead(at_s);
    if (!comm_ || comm_.state().apart || !UnderWay::look_at_all()) sched_yield();
}

void Wait::look_for_the_dead(double at_s) {
    if (at_s - looked_s_ <= between_looks_s) return;
    looked_s_ = at_s;
    if (!comm_) return;
    const CommState& state = comm_.state();
    const auto& ranks = state.nodes.own_ranks();
    for (std::size_t r = 0; r < state.node.processes.size(); ++r) {
        if (!has_ended(state.node.processes[r])) continue;
        end_program("rank " + std::to_string(ranks[r]) + " (process " +
                    std::to_string(state.node.processes[r].pid) + ") has died, and this rank waits for it");
    }
}

}  // namespace hakobi::mpi
