#pragma once

#include <cstdint>
#include <limits>

namespace hakobi {

inline constexpr std::int64_t unknown_memory = std::numeric_limits<std::int64_t>::max();

/// Bytes that this process could take now without anything being swapped out or ended: what the machine has
/// (MemAvailable) and what the process's control group still allows, whichever is less. unknown_memory where
/// the system says neither.
[[nodiscard]] std::int64_t available_memory_bytes();

}  // namespace hakobi
