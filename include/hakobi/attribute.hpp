#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hakobi {

/// An attribute's value: text, or numbers.
///
/// Integers are stored with 32 bits if all values fit. Attributes to which CF assigns the field's type ("valid_min",
/// "valid_max", "valid_range", "actual_range", "missing_value", "flag_values", "flag_masks") are stored in that type.
using Attribute = std::variant<std::string, std::vector<double>, std::vector<std::int64_t>>;

/// Attributes by name. A name begins with a letter, digit or underscore and may also contain `. - + @`; names that HDF5 and
/// netCDF reserve are refused.
using Attributes = std::map<std::string, Attribute>;

/// A value of a field's type.
using FillValue = std::variant<double, float, std::int32_t, std::int64_t, std::int8_t, std::uint8_t,
                               std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;

}  // namespace hakobi
