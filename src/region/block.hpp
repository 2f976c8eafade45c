#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <optional>
#include <span>

#include "base/status.hpp"

namespace hakobi {

/// The most bytes of all arrays of a file: sums and products of a few such numbers stay below 2^63.
constexpr std::int64_t max_values_bytes = std::int64_t{1} << 59;

/// The elements of an array of these extents; nothing where an extent is less than 1, or where the array
/// would leave 59 bits of bytes: what passed here may be multiplied and added up to a file's size without a
/// check.
[[nodiscard]] std::optional<std::int64_t> num_elements_of(std::span<const std::int64_t> global,
                                                          std::int64_t element_bytes);

/// invalid_argument, in words that follow "field x: ", unless the block is a part of an array that a file can
/// hold: one extent, start and count a dimension, start and count inside the array. Every block that a user
/// or a file gave passes here once; what lies behind multiplies and adds its numbers without a check. Pure.
Status check_block(const Block& block);

}  // namespace hakobi
