#pragma once

#include <concepts>
#include <cstdint>
#include <hakobi/error.hpp>
#include <initializer_list>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// The types that an attribute takes for a number: truth values and characters are none.
template <class T>
concept AttributeNumber = std::floating_point<T> ||
    (std::integral<T> && !std::same_as<T, bool> && !std::same_as<T, char> && !std::same_as<T, wchar_t> &&
     !std::same_as<T, char8_t> && !std::same_as<T, char16_t> && !std::same_as<T, char32_t>);

/// An attribute's value: text, or numbers.
///
///     Attributes{{"institution", "a lab"}, {"realization", 7},
///                {"valid_range", {0.0, 40.0}}, {"levels", a_vector}}
///
/// Integers are stored with 32 bits if all values fit. Attributes to which CF assigns the field's type
/// ("valid_min", "valid_max", "valid_range", "actual_range", "missing_value", "flag_values", "flag_masks")
/// are stored in that type. Read one with std::get and std::get_if. An unsigned number of more than 63 bits
/// throws invalid_argument.
struct Attribute : std::variant<std::string, std::vector<double>, std::vector<std::int64_t>> {
    using Value = std::variant<std::string, std::vector<double>, std::vector<std::int64_t>>;

    Attribute() = default;
    Attribute(std::string text) : Value(std::move(text)) {}
    Attribute(std::string_view text) : Value(std::string(text)) {}
    Attribute(const char* text) : Value(std::string(text)) {}
    template <AttributeNumber Number>
    Attribute(Number number) : Value(numbers(std::initializer_list<Number>{number})) {}
    template <AttributeNumber Number>
    Attribute(std::initializer_list<Number> list) : Value(numbers(list)) {}
    template <std::ranges::input_range Range>
    requires AttributeNumber<std::ranges::range_value_t<Range>> Attribute(const Range& range)
        : Value(numbers(range)) {}

  private:
    template <class Range>
    static Value numbers(const Range& range) {
        if constexpr (std::floating_point<std::ranges::range_value_t<Range>>) {
            std::vector<double> reals;
            for (const auto number : range) reals.push_back(static_cast<double>(number));
            return reals;
        } else {
            std::vector<std::int64_t> integers;
            for (const auto number : range) {
                if (!std::in_range<std::int64_t>(number))
                    throw Error(ErrorCode::invalid_argument, "an attribute's number has more than 63 bits");
                integers.push_back(static_cast<std::int64_t>(number));
            }
            return integers;
        }
    }
};

/// Attributes by name. A name begins with a letter, digit or underscore and may also contain `. - + @`; names
/// that HDF5 and netCDF reserve are refused.
using Attributes = std::map<std::string, Attribute>;

/// A value of a field's type.
using FillValue = std::variant<double, float, std::int32_t, std::int64_t, std::int8_t, std::uint8_t,
                               std::int16_t, std::uint16_t, std::uint32_t, std::uint64_t>;

}  // namespace v0
}  // namespace hakobi
