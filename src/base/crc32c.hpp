#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hakobi {

/// CRC-32C (Castagnoli, RFC 3720), continued from `crc`; of no bytes 0.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t crc = 0);

}  // namespace hakobi
