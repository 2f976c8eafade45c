// Bytes, for tests.
#pragma once

#include <cstdint>

namespace hakobi {

inline constexpr std::int64_t kib = 1 << 10, mib = 1 << 20, gib = 1 << 30;

}  // namespace hakobi
