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

/// Calls `visit(first, stride_bytes, num)` for rows of values that lie evenly apart, in C order, until one
/// returns false. The rows are as long as they can be.
template <class Visit>
void for_each_row(const HeldBlock& held, std::int64_t element_bytes, Visit visit) {
    const std::vector<std::int64_t>& count = held.block.count;
    const std::int64_t num = num_values_of(held.block);
    if (num == 0) return;
    std::int64_t row = 1, stride = element_bytes;
    std::size_t num_outer = count.size();
    for (; num_outer > 0; --num_outer) {
        if (count[num_outer - 1] == 1) continue;
        if (row > 1 && held.strides_bytes[num_outer - 1] != row * stride) break;
        if (row == 1) stride = held.strides_bytes[num_outer - 1];
        row *= count[num_outer - 1];
    }
    std::vector<std::int64_t> at(num_outer, 0);
    for (std::int64_t done = 0; done < num; done += row) {
        const std::byte* first = held.first;
        for (std::size_t d = 0; d < num_outer; ++d) first += at[d] * held.strides_bytes[d];
        if (!visit(first, stride, row)) return;
        for (std::size_t d = num_outer; d-- > 0;) {
            if (++at[d] < count[d]) break;
            at[d] = 0;
        }
    }
}

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
