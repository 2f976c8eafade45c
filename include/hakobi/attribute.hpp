#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hakobi {

/// An attribute's value: text, or numbers.
///
/// In a file whole numbers are of 32 bits where all fit, and those of an attribute that CF wants in its field's type
/// ("valid_min", "valid_max", "valid_range", "actual_range", "missing_value", "flag_values", "flag_masks") are of that.
using Attribute = std::variant<std::string, std::vector<double>, std::vector<std::int64_t>>;

/// By name. A name has letters, digits, and `_ . - + @` behind a letter, digit or underscore; names that HDF5 and netCDF keep
/// for themselves are refused.
using Attributes = std::map<std::string, Attribute>;

/// A value of a field's type.
using FillValue = std::variant<double, float, std::int32_t, std::int64_t, std::int8_t, std::uint8_t,
                               std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;

}  // namespace hakobi
