#pragma once

#include <memory>

#include "gpu.hpp"

namespace hakobi::apps {

/// Device number `place` modulo the driver's number of them, or null where this machine has no such driver,
/// or it no device.
[[nodiscard]] std::shared_ptr<Gpu> open_cuda(int place);
[[nodiscard]] std::shared_ptr<Gpu> open_hip(int place);

/// A library's function; null where there is none.
[[nodiscard]] void* function_of(void* library, const char* name);
/// Says what failed and ends all ranks.
[[noreturn]] void end_program(const char* call, int code);
inline void must(const char* call, int code) {
    if (code != 0) end_program(call, code);
}

}  // namespace hakobi::apps
