#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/block.hpp>
#include <optional>
#include <span>
#include <vector>

#include "format/packing.hpp"
#include "output/method.hpp"
#include "region/copy.hpp"

namespace hakobi::output {

/// A block of a field, and where this rank has its values.
struct HeldBlock {
    Block block;
    const std::byte* first = nullptr;         ///< of the block's values
    std::vector<std::int64_t> strides_bytes;  ///< from a value to its neighbour, one a dimension
    bool is_on_device = false;                ///< the processor must not touch the values
    /// The values' type where they are not packed yet (format/packing.hpp): else they have the field's.
    std::optional<format::ValueType> unpacked = {};
};

/// Number of the block's values: one of a scalar, which has no dimensions.
[[nodiscard]] std::int64_t num_values_of(const Block& block);
/// Bytes of memory from the first to behind the last of the block's values; 0 of none.
[[nodiscard]] std::int64_t reach_bytes(const HeldBlock& held, std::int64_t element_bytes);

/// This rank's part of a field: blocks that do not overlap.
using HeldField = std::vector<HeldBlock>;

/// A field that stands in all later steps, from a copy of this rank's part.
struct StaticField {
    format::FieldDescription description;
    HeldField held;
    std::vector<std::vector<std::byte>> values;  ///< one a block of `held`, which points to them
};

/// Strides of values in C order without gaps.
[[nodiscard]] std::vector<std::int64_t> packed_strides(const std::vector<std::int64_t>& count,
                                                       std::int64_t element_bytes);

/// Returns where `field` has its block's values, or invalid_argument, in words that follow "field x: ", where
/// block and memory do not fit each other. Pure.
Result<HeldBlock> held_block(const Field& field);

/// Copies the block's values to `values`, in C order, and returns the block that is there. Values that the
/// mover takes arrive later.
[[nodiscard]] HeldBlock copied(const HeldBlock& held, std::int64_t element_bytes, std::byte* values,
                               RunMover* mover = nullptr);

/// Packs the block's values to `values`, in C order, and returns the block that is there. invalid_argument,
/// in words that follow "field x: ", for one that does not fit.
Result<HeldBlock> packed(const HeldBlock& held, const format::Packing& packing, std::byte* values);

/// Returns the block with one value everywhere: `row` becomes a row of it, which all its rows are. `row` must
/// stay.
[[nodiscard]] HeldBlock filled(const Block& block, std::span<const std::byte> value,
                               std::vector<std::byte>& row);

/// Where the field's values are in memory (by address) and where in the file, whose array begins at
/// `offset_bytes`. Pure.
[[nodiscard]] Part part_of(const HeldField& field, std::int64_t element_bytes, std::int64_t offset_bytes);

}  // namespace hakobi::output
