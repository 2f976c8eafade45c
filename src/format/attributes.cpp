#include "format/attributes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "format/names.hpp"
#include "format/step.hpp"

namespace hakobi::format {
namespace {

constexpr std::array<std::string_view, 7> of_fields_type = {
    "valid_min", "valid_max", "valid_range", "actual_range", "missing_value", "flag_values", "flag_masks"};

constexpr std::array<std::string_view, 10> librarys_own = {
    "CLASS",         "NAME",          "DIMENSION_LIST", "DIMENSION_LABELS", "REFERENCE_LIST",
    "_Netcdf4Dimid", "_NCProperties", "_nc3_strict",    "_NCCOPY",          "_Netcdf4Coordinates"};

bool is_attribute_name(std::string_view name) {
    const auto is_good = [](char c) {
        return is_letter_or_digit(c) || std::string_view("_.-+@").find(c) != std::string_view::npos;
    };
    return !name.empty() && name.size() <= most_name_bytes && std::ranges::all_of(name, is_good) &&
           (is_letter_or_digit(name[0]) || name[0] == '_');
}

template <class Number>
bool fits(Number number, ValueType type) {
    if (type == ValueType::float64 || type == ValueType::float32) return true;
    const auto between = [&]<class T>(T) {
        // The limits of 64 bits are no doubles: the largest is one below a power of two.
        const auto value = static_cast<long double>(number);
        return value == std::floor(value) &&
               value >= static_cast<long double>(std::numeric_limits<T>::min()) &&
               value <= static_cast<long double>(std::numeric_limits<T>::max());
    };
    switch (type) {
        case ValueType::int32:
            return between(std::int32_t{});
        case ValueType::int64:
            return between(std::int64_t{});
        case ValueType::int8:
            return between(std::int8_t{});
        case ValueType::uint8:
            return between(std::uint8_t{});
        case ValueType::int16:
            return between(std::int16_t{});
        case ValueType::uint16:
            return between(std::uint16_t{});
        case ValueType::uint32:
            return between(std::uint32_t{});
        default:
            return between(std::uint64_t{});
    }
}

/// Says what is wrong with a value; "" when nothing is.
std::string problem_with(const std::string& name, const Attribute& value, std::optional<ValueType> type,
                         std::size_t most_bytes) {
    const std::string most_text = std::to_string(most_bytes >> 10U) + " KiB";
    if (const auto* text = std::get_if<std::string>(&value)) {
        if (text->find('\0') != std::string::npos) return "its text has a NUL character";
        return text->size() > most_bytes ? "its text is longer than " + most_text : "";
    }
    return std::visit(
        [&](const auto& numbers) -> std::string {
            if constexpr (std::is_same_v<std::decay_t<decltype(numbers)>, std::string>) {
                return "";
            } else {
                if (numbers.empty()) return "it has no values";
                if (numbers.size() > most_bytes / sizeof(numbers[0]))
                    return "its values take more than " + most_text;
                if (type && number_type(name, value, true) == NumberType::field &&
                    !std::ranges::all_of(numbers, [&](auto number) { return fits(number, *type); }))
                    return "its values are not of the field's type " + std::string(name_of(*type));
                return "";
            }
        },
        static_cast<const Attribute::Value&>(value));
}

}  // namespace

NumberType number_type(std::string_view name, const Attribute& value, bool is_of_field) {
    if (is_of_field && std::ranges::find(of_fields_type, name) != of_fields_type.end())
        return NumberType::field;
    const auto* integers = std::get_if<std::vector<std::int64_t>>(&value);
    if (integers == nullptr) return NumberType::real;
    const auto is_short = [](std::int64_t number) {
        return number >= std::numeric_limits<std::int32_t>::min() &&
               number <= std::numeric_limits<std::int32_t>::max();
    };
    return std::ranges::all_of(*integers, is_short) ? NumberType::int32 : NumberType::int64;
}

const void* address_of(const std::optional<FillValue>& value) {
    if (!value) return nullptr;
    return std::visit([](const auto& number) { return static_cast<const void*>(&number); }, *value);
}

double number_of(const FillValue& value) {
    return std::visit([](auto number) { return static_cast<double>(number); }, value);
}

Attribute attribute_of(const FillValue& value) {
    return std::visit(
        [](auto number) -> Attribute {
            if constexpr (std::is_floating_point_v<decltype(number)>) {
                return std::vector<double>{static_cast<double>(number)};
            } else {
                return std::vector<std::int64_t>{static_cast<std::int64_t>(number)};
            }
        },
        value);
}

std::optional<FillValue> fill_value_of(ValueType type, const Attribute& value) {
    std::optional<FillValue> fill = zero_of(type);
    const auto take = [&](const auto& numbers) {
        if (numbers.size() != 1 || !fill) {
            fill.reset();
            return;
        }
        std::visit([&](auto& number) { number = static_cast<std::decay_t<decltype(number)>>(numbers[0]); },
                   *fill);
    };
    if (std::holds_alternative<std::string>(value)) return std::nullopt;
    if (const auto* reals = std::get_if<1>(&value)) take(*reals);
    if (const auto* integers = std::get_if<2>(&value)) take(*integers);
    return fill;
}

Status check_attributes(const std::string& whose, const Attributes& attributes,
                        std::span<const std::string_view> taken, std::optional<ValueType> type,
                        std::size_t most_bytes) {
    for (const auto& [name, value] : attributes) {
        const auto bad = [&, &name = name](const std::string& text) {
            return Status(ErrorCode::invalid_argument, whose + ": attribute '" + name + "': " + text);
        };
        if (!is_attribute_name(name))
            return bad(
                "a name is at most 255 letters, digits and _ . - + @, and begins with a letter, digit or "
                "underscore");
        if (std::ranges::find(taken, name) != taken.end()) return bad("an option of its own sets it");
        if (std::ranges::find(librarys_own, name) != librarys_own.end())
            return bad("netCDF keeps the name for itself");
        if (const std::string problem = problem_with(name, value, type, most_bytes); !problem.empty())
            return bad(problem);
    }
    return {};
}

void put_attributes(ByteWriter& writer, const Attributes& attributes) {
    writer.put(std::ssize(attributes));
    for (const auto& [name, value] : attributes) {
        writer.put_text(name);
        writer.put(static_cast<std::uint8_t>(value.index()));
        if (const auto* text = std::get_if<0>(&value)) writer.put_text(*text);
        if (const auto* numbers = std::get_if<1>(&value)) writer.put_all(*numbers);
        if (const auto* numbers = std::get_if<2>(&value)) writer.put_all(*numbers);
    }
}

Attributes get_attributes(ByteReader& reader) {
    constexpr std::size_t least_bytes = 2 * sizeof(std::int64_t) + 1;
    Attributes attributes;
    for (auto n = reader.get_count(least_bytes); n > 0; --n) {
        std::string name = reader.get_text();
        // In order, so that equal attributes have one encoding.
        if (!attributes.empty() && name <= attributes.rbegin()->first) reader.fail();
        Attribute value;
        switch (reader.get<std::uint8_t>()) {
            case 0:
                value = reader.get_text();
                break;
            case 1:
                value = reader.get_all<double>();
                break;
            case 2:
                value = reader.get_all<std::int64_t>();
                break;
            default:
                reader.fail();
        }
        if (!reader.ok()) return {};
        attributes.emplace(std::move(name), std::move(value));
    }
    return attributes;
}

}  // namespace hakobi::format
