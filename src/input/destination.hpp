#pragma once

#include <cstddef>
#include <hakobi/input.hpp>
#include <optional>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "format/packing.hpp"
#include "region/region.hpp"

namespace hakobi::input {

/// Where a rank's values come from and go to, checked.
struct Destination {
    Block block;    ///< of the field's shape; a scalar is an array of one element
    Region memory;  ///< the block's elements in C order, offsets from `origin`
    std::byte* origin = nullptr;
    std::int64_t element_bytes = 8;
    /// The values in the file are of another type: `memory` is that of unpacked ones, which are `wanted`.
    std::optional<format::Packing> packing = {};
    format::ValueType wanted = format::ValueType::float64;

    [[nodiscard]] bool is_dense() const noexcept { return memory.is_contiguous(); }
};

/// invalid_argument, naming the field: a block that is not inside it, memory too small or of another type
/// (where it is none that the file's unpacks to: format/packing.hpp), or strides by which elements meet;
/// unsupported for a field of a type that cannot be read. Pure.
Result<Destination> destination_of(const FieldRead& read, const format::FoundField& field);

}  // namespace hakobi::input
