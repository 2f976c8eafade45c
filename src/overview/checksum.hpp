#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hakobi::overview {

/// ZIP's CRC-32 of bytes that follow those with the CRC `before`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
/// Castagnoli's CRC-32, Zarr's codec crc32c.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes);

}  // namespace hakobi::overview
