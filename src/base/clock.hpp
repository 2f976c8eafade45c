#pragma once

#include <time.h>

#include <chrono>

namespace hakobi {

/// Seconds on the monotonic clock; the same origin for all processes of a node. The only stopwatch of the
/// project.
[[nodiscard]] inline double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds that the calling thread has had a core.
[[nodiscard]] inline double thread_cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace hakobi
