#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hakobi {

/// ZIP's CRC-32 of bytes that follow those with the CRC `before`.
[[nodiscard]] std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before = 0);
/// The CRC-32 of two pieces, one behind the other, from theirs and the second's length.
[[nodiscard]] std::uint32_t combined_crc32(std::uint32_t first, std::uint32_t second,
                                           std::int64_t second_bytes);

}  // namespace hakobi
