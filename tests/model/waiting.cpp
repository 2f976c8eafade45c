// Waiting, in the place of base/futex.cpp and mpi/wait.cpp: no time limits, no patience, and no messages of
// MPI.
#include <bit>

#include "base/futex.hpp"
#include "model/machine.hpp"
#include "mpi/wait.hpp"

namespace hakobi {

void futex_wait(FutexWord& word, std::uint32_t value, double /*timeout_s*/) {
    word.sleep_while(value);
}
void futex_wake_all(FutexWord& word) {
    model::wake(&word, true);
}
void futex_wake_one(FutexWord& word) {
    model::wake(&word, false);
}

namespace mpi {

// Who waits looks again at all that it has read since it began to wait: from the second sleep on nothing of
// it counts. The members that time sleeps in src/ remember how it began.
void Wait::doze(FutexWord* word, std::uint32_t seen) {
    if (sleep_s_ == 0) {
        sleep_s_ = 1;
        looked_s_ = std::bit_cast<double>(model::all_read());
    }
    word != nullptr ? word->sleep_while(seen) : model::look_later();
    model::forget(std::bit_cast<std::uint64_t>(looked_s_));
}

void Wait::yield() {
    doze(nullptr, 0);
}

}  // namespace mpi
}  // namespace hakobi
