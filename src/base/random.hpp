#pragma once

#include <cstdint>
#include <string>

namespace hakobi {

/// 64 bits that nobody can foretell, and that no other call returns. Any thread.
[[nodiscard]] std::uint64_t random_bits() noexcept;
/// 32 hexadecimal digits of such.
[[nodiscard]] std::string random_name();

}  // namespace hakobi
