#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "base/futex.hpp"
#include "mpi/wait.hpp"

namespace hakobi::mpi {

/// A word in shared memory that ranks wait for. It counts those that sleep on it or are about to, so that
/// nobody asks the kernel to wake nobody. Zero at first.
struct AwaitedWord {
    FutexWord word;
    SharedAtomic<std::uint32_t> num_asleep;

    /// Until `done(word's value)`. Sequentially consistent, as the change of the word before `wake` is:
    /// either the sleeper sees the change, or its waker sees the sleeper.
    template <class Done>
    void wait(const Comm& comm, Patience patience, Done done) {
        Wait wait(comm, patience);
        for (;;) {
            const std::uint32_t value = word.load(std::memory_order_acquire);
            if (done(value)) return;
            if (wait.is_patient()) {
                wait.pause(word, value);
                continue;
            }
            num_asleep.fetch_add(1);
            if (word.load() == value) wait.pause(word, value);
            num_asleep.fetch_sub(1, std::memory_order_relaxed);
        }
    }
    /// After a change of the word.
    void wake() {
        if (num_asleep.load() > 0) futex_wake_all(word);
    }
};

}  // namespace hakobi::mpi
