#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hakobi {

/// A 64-bit fingerprint (XXH3); equal bytes give equal values on every machine.
[[nodiscard]] std::uint64_t fingerprint(std::span<const std::byte> bytes);

}  // namespace hakobi
