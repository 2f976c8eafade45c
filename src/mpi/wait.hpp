#pragma once

#include <hakobi/comm.hpp>

#include "base/futex.hpp"

// Every wait on the thread that called us goes through here: MPI lets a program have messages pending across
// any call, and some of them arrive only while their receiver, or their sender, is in MPI. A rank that slept
// here without looking after MPI would hang such a program. I/O threads and dispatchers never call MPI and
// wait by base/futex.hpp alone; a wait inside a blocking call of MPI needs none of this, and a wait with a
// Comm that is apart from MPI (node/apart.hpp) does not call it. The same holds for our own operations: what
// was started and not yet waited for (under_way.hpp) goes on in every wait.

namespace hakobi::mpi {

/// Lets MPI move whatever messages the process has pending, and looks at what is under way; whether that
/// moved. Local; the thread that may call MPI. Nothing with an empty Comm or outside MPI_Init and
/// MPI_Finalize.
bool progress(const Comm& comm);

/// One wait of the calling thread, from its first look to its last:
///
///     mpi::Wait wait(comm, patience);
///     while (!is_there()) wait.pause(word, seen);
///
/// First the patience is spent, as in futex_wait_until. Then each pause sleeps, on the word or for a time,
/// longer and longer up to `longest_sleep_s`, and progresses MPI and what is under way before the next. A
/// message that needs this rank is late by one such sleep at most. Sleeps are longer where a core has more
/// than eight ranks: in proportion. After a second, and each second from then on, it looks whether the node's
/// other ranks are alive: where one has died without an end to the program, it ends it and names the rank.
class Wait {
  public:
    static constexpr double longest_sleep_s = 1e-3;
    explicit Wait(const Comm& comm, Patience patience = {}, double most_sleep_s = longest_sleep_s)
        : comm_(comm), patience_(patience), most_sleep_s_(most_sleep_s) {}

    /// Returns when `word` is no longer `seen`, or earlier.
    void pause(FutexWord& word, std::uint32_t seen) {
        if (patience_.spins > 0) {
            --patience_.spins;
            spin_pause();
        } else if (patience_.yields > 0) {
            --patience_.yields;
            if (!give_way()) patience_.yields = 0;
        } else {
            doze(&word, seen);
        }
    }
    /// The same where nothing wakes this thread: between tests of a request, say. No patience.
    void pause() { doze(nullptr, 0); }
    /// Between tests of requests that are waited for now, which progress MPI and which a sleep would hold up:
    /// spins as the patience says, then leaves the core to others each time.
    void yield();
    /// Whether `pause` does not sleep yet.
    [[nodiscard]] bool is_patient() const { return patience_.spins > 0 || patience_.yields > 0; }

  private:
    void doze(FutexWord* word, std::uint32_t seen);  // "sleep" is a macro under simulators of MPI
    void look_for_the_dead(double at_s);             // when it has not for a second

    const Comm& comm_;
    Patience patience_;
    double most_sleep_s_;
    double sleep_s_ = 0;  // the next one; 0: none yet
    int num_busy_polls_ = 0;
    double looked_s_ = 0;  // when: at the other processes, or the first sleep
};

/// Waits until `done(word's value)`.
template <class Done>
void wait_until(const Comm& comm, FutexWord& word, Patience patience, Done done) {
    Wait wait(comm, patience);
    for (;;) {
        const std::uint32_t value = word.load(std::memory_order_acquire);
        if (done(value)) return;
        wait.pause(word, value);
    }
}

}  // namespace hakobi::mpi
