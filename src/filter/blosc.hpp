#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "filter/codec.hpp"

namespace hakobi::filter {

// Chunks of c-blosc 1 (README_CHUNK_FORMAT of its sources), with one block that is not split, so that a chunk
// is its header and what the codec made of the shuffled values:
//
//   0  version of the format, of the codec; flags; bytes of an element
//   4  bytes of the values; of a block, here all; of the chunk with this header
//  16  where the block begins: 20
//  20  bytes of the packed block; as many as the values have: it is not packed

inline constexpr std::int64_t blosc_header_bytes = 24;
using BloscHeader = std::array<std::byte, blosc_header_bytes>;

/// The header of a chunk of `values_bytes`, whose packed values are behind it. Pure.
[[nodiscard]] BloscHeader blosc_header(Codec codec, std::int64_t element_bytes, std::int64_t values_bytes,
                                       std::int64_t packed_bytes);

/// Unpacks such a chunk: `values` becomes all of what it holds. format where it is damaged, or of another
/// size or other elements, unsupported where it is of several blocks or another codec.
Status unpack_blosc(Coder& coder, std::int64_t element_bytes, std::span<const std::byte> chunk,
                    std::span<std::byte> values);

}  // namespace hakobi::filter
