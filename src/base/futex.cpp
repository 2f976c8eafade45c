#include "base/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cassert>
#include <climits>
#include <ctime>

namespace hakobi {
namespace {

void futex(FutexWord& word, int operation, std::uint32_t value, const timespec* timeout) {
    // Errors are the expected outcomes (value changed, timed out, interrupted): the caller looks again.
    (void)syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), operation, value, timeout, nullptr, 0);
}

}  // namespace

void futex_wait(FutexWord& word, std::uint32_t value, double timeout_s) {
    assert(timeout_s >= 0);
    timespec timeout{};
    timeout.tv_sec = static_cast<time_t>(timeout_s);
    timeout.tv_nsec = static_cast<long>((timeout_s - static_cast<double>(timeout.tv_sec)) * 1e9);
    futex(word, FUTEX_WAIT, value, &timeout);
}

void futex_wake_all(FutexWord& word) {
    futex(word, FUTEX_WAKE, INT_MAX, nullptr);
}
void futex_wake_one(FutexWord& word) {
    futex(word, FUTEX_WAKE, 1, nullptr);
}

}  // namespace hakobi
