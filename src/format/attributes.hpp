#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/bytes.hpp"
#include "base/status.hpp"

namespace hakobi::format {

enum class ValueType : std::uint8_t;

/// The type that the numbers of a field's attribute have in a file: the field's own for those that CF wants so.
enum class NumberType : std::uint8_t { field, real, int32, int64 };
[[nodiscard]] NumberType number_type(std::string_view name, const Attribute& value, bool is_of_field);

/// Where the value is, of its own type; nullptr without one.
[[nodiscard]] const void* address_of(const std::optional<FillValue>& value);

/// What a file says of a fill value.
[[nodiscard]] Attribute attribute_of(const FillValue& value);
/// And back; nothing where it is no number, or not one.
[[nodiscard]] std::optional<FillValue> fill_value_of(ValueType type, const Attribute& value);

/// invalid_argument, beginning with `whose` ("field eta"), for a name that netCDF does not take or keeps for itself, one of
/// `taken`, which are said elsewhere, and a value that no file can hold. `type`: of the field whose attributes they are.
Status check_attributes(const std::string& whose, const Attributes& attributes,
                        std::span<const std::string_view> taken, std::optional<ValueType> type);

/// As bytes for messages and pieces, and back: equal ones give equal bytes, NaNs too. What is no encoding makes the reader
/// not ok.
void put_attributes(ByteWriter& writer, const Attributes& attributes);
[[nodiscard]] Attributes get_attributes(ByteReader& reader);

}  // namespace hakobi::format
