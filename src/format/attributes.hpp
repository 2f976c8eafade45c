#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/field.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/status.hpp"

namespace hakobi::format {

using hakobi::ValueType;

/// The type that an attribute's numbers get in a file: the field's own for those attributes of a field to
/// which CF assigns it.
enum class NumberType : std::uint8_t { field, real, int32, int64 };
[[nodiscard]] NumberType number_type(std::string_view name, const Attribute& value, bool is_of_field);

/// Returns the address of the value, of its own type; null where there is none.
[[nodiscard]] const void* address_of(const std::optional<FillValue>& value);

/// A fill value as a double.
[[nodiscard]] double number_of(const FillValue& value);
/// A fill value as the attribute `_FillValue`.
[[nodiscard]] Attribute attribute_of(const FillValue& value);
/// The fill value of a field of type `type` that has that attribute; nothing where it is not exactly one
/// number.
[[nodiscard]] std::optional<FillValue> fill_value_of(ValueType type, const Attribute& value);

/// Returns invalid_argument, with a text that begins with `whose` ("field eta"), for a name that netCDF
/// refuses or reserves, for one of `taken`, which options of their own set, and for a value that no file can
/// hold. `type` is that of the field whose attributes they are. Pure.
Status check_attributes(const std::string& whose, const Attributes& attributes,
                        std::span<const std::string_view> taken, std::optional<ValueType> type,
                        std::size_t most_bytes);

/// Attributes as bytes for messages and pieces, and back. Equal ones give equal bytes, NaNs included; bytes
/// that are no encoding make the reader not ok.
void put_attributes(ByteWriter& writer, const Attributes& attributes);
[[nodiscard]] Attributes get_attributes(ByteReader& reader);

}  // namespace hakobi::format
