#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace hakobi::filter {

/// HDF5's shuffle filter: `to` gets the first bytes of all elements, then the second bytes, and so on; what
/// is left of the size as it is. `unshuffle` is the way back. Both spans are equally long and do not overlap.
/// Pure.
void shuffle(std::span<const std::byte> from, std::int64_t element_bytes, std::span<std::byte> to);
void unshuffle(std::span<const std::byte> from, std::int64_t element_bytes, std::span<std::byte> to);

}  // namespace hakobi::filter
