#pragma once

#include <chrono>

namespace hakobi {

/// Seconds on the monotonic clock; the same origin for all processes of a node. The only stopwatch of the project.
[[nodiscard]] inline double now_s() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace hakobi
