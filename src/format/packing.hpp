#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "format/step.hpp"

namespace hakobi::format {

/// CF's packed data (CF conventions, section 8.1): values of float64 or float32 that files have in a smaller
/// type.
struct Packing {
    ValueType type = ValueType::float32;  ///< float32, or an integer of at most 32 bits
    /// For integers value = stored * scale_factor + add_offset. NaNs and missing values are stored as one
    /// number of their own (missing_of), and no other value is.
    double scale_factor = 1, add_offset = 0;
    bool saturates =
        false;  ///< values out of range are stored as the least or greatest: else they are errors
    std::optional<double> missing = {};  ///< fill value before packing, besides NaN

    [[nodiscard]] bool is_scaled() const noexcept { return type != ValueType::float32; }
};

/// Parses a user's text: "float32", "int16:scale_factor=0.01,add_offset=273.15", "int16:range=180..330" (with
/// int8, uint8, int16, uint16 and int32), each also with "saturate" among what follows the colon. Nothing for
/// "" and "float64". invalid_argument. Pure.
Result<std::optional<Packing>> parse_packing(std::string_view text);

/// The number that stands for missing values in that integer type: its least, or greatest where unsigned.
[[nodiscard]] FillValue missing_of(ValueType type);

/// The packing of a field that was found in a file and whose values are wanted as `wanted`; nothing where
/// they are no values of that type: only float32, and integers with scale_factor or add_offset, become
/// float64 or float32, and none with `_Unsigned` or a missing_value besides `_FillValue`. Pure.
[[nodiscard]] std::optional<Packing> packing_found(ValueType stored, const Attributes& attributes,
                                                   ValueType wanted);

/// A value that does not fit the type it is stored in.
struct Misfit {
    std::int64_t index = 0;
    double value = 0;
};

/// Packs `num` values of type `from` (float64 or float32), `stride_bytes` apart, to values one behind the
/// other. Returns the first that does not fit; the others are packed. Rounds to nearest, ties to even.
std::optional<Misfit> pack(const Packing& packing, ValueType from, const std::byte* values,
                           std::int64_t stride_bytes, std::int64_t num, std::byte* packed);

/// The way back, to `num` values of type `to` (float64 or float32): those that equal `fill` of the stored
/// integers become NaN.
void unpack(const Packing& packing, const std::optional<FillValue>& fill, const std::byte* packed,
            std::int64_t num, ValueType to, std::byte* values);

}  // namespace hakobi::format
