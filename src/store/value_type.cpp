#include "store/value_type.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <limits>
#include <utility>

#include "base/nearest.hpp"

namespace hakobi::store {

namespace {

constexpr std::array<std::pair<std::string_view, ValueType>, 20> type_names = {{
    {"String", ValueType::text},
    {"Default", ValueType::text},
    {"Integer", ValueType::integer},
    {"Double", ValueType::real},
    {"Date", ValueType::date},
    {"Time", ValueType::time},
    {"Step", ValueType::step},
    {"Param", ValueType::param},
    {"ParamID", ValueType::param},  // FDB's stricter reading of requests; keys have the same number
    {"Expver", ValueType::expver},
    {"Grid", ValueType::grid},
    {"First3", ValueType::first3},
    {"Lowercase", ValueType::lowercase},
    {"Year", ValueType::year},
    {"Month", ValueType::month},
    {"MonthOfDate", ValueType::month_of_date},
    {"YearMonth", ValueType::year_month},
    {"ClimateDaily", ValueType::climate_daily},
    {"ClimateMonthly", ValueType::climate_monthly},
    {"Ignore", ValueType::ignore},
}};

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
    Number number{};
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, number);
    if (error != std::errc() || stop != end || text.empty()) return {};
    return number;
}

bool is_digits(std::string_view text) {
    return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

std::string padded(long number, std::size_t width) {
    std::string text = std::to_string(number);
    return text.size() < width ? std::string(width - text.size(), '0') + text : text;
}

std::string lowered(std::string_view text) {
    std::string lower(text);
    for (char& c : lower) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    }
    return lower;
}

Status refused_value(ValueType type, std::string_view value, std::string_view form) {
    std::string text("'");
    text.append(value).append("' is no ").append(name_of(type)).append(": ").append(form);
    return {ErrorCode::invalid_argument, std::move(text)};
}

using CalendarDate = std::chrono::year_month_day;

std::string text_of(const CalendarDate& date) {
    return padded(static_cast<int>(date.year()), 4) + padded(static_cast<unsigned>(date.month()), 2) +
           padded(static_cast<unsigned>(date.day()), 2);
}

std::optional<CalendarDate> parse_date(std::string_view value, ValueSource source) {
    std::string digits(value);
    if (value.size() == 10 && value[4] == '-' && value[7] == '-') std::erase(digits, '-');
    if (digits.size() == 8 && is_digits(digits)) {
        const CalendarDate date(std::chrono::year(std::stoi(digits.substr(0, 4))),
                                std::chrono::month(static_cast<unsigned>(std::stoi(digits.substr(4, 2)))),
                                std::chrono::day(static_cast<unsigned>(std::stoi(digits.substr(6, 2)))));
        return date.ok() ? std::optional(date) : std::nullopt;
    }
    const auto relative = parse_number<int>(value);
    if (source == ValueSource::request && relative && *relative <= 0 && *relative > -100'000) {
        const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
        return CalendarDate(today + std::chrono::days(*relative));
    }
    return {};
}

/// Types that are a part of a date take the part alone, too.
Result<std::string> date_part(ValueType type, std::string_view value, ValueSource source) {
    if (const auto date = parse_date(value, source)) {
        const std::string whole = text_of(*date);
        const auto month = static_cast<long>(static_cast<unsigned>(date->month()));
        switch (type) {
            case ValueType::year:
                return std::to_string(static_cast<int>(date->year()));
            case ValueType::year_month:
                return whole.substr(0, 6);
            case ValueType::month_of_date:
                return padded(month, 2);
            case ValueType::climate_daily:
                return whole.substr(4);
            default:
                return std::to_string(month);
        }
    }
    const auto number = parse_number<int>(value);
    if (!number || *number < 0) return refused_value(type, value, "a date YYYYMMDD, or that part of one");
    const int last_month = *number % 100;
    switch (type) {
        case ValueType::year:
            if (*number <= 9999) return std::to_string(*number);
            break;
        case ValueType::year_month:
            if (value.size() == 6 && last_month >= 1 && last_month <= 12) return std::string(value);
            break;
        case ValueType::climate_daily:
            if (*number >= 101 && *number <= 1231) return padded(*number, 4);
            break;
        case ValueType::month_of_date:
            if (*number >= 1 && *number <= 12) return padded(*number, 2);
            break;
        default:
            if (*number >= 1 && *number <= 12) return std::to_string(*number);
    }
    return refused_value(type, value, "a date YYYYMMDD, or that part of one");
}

Result<std::string> canonical_time(std::string_view value) {
    std::string digits(value);
    std::erase(digits, ':');
    if (is_digits(digits) && digits.size() <= 6) {
        if (digits.size() <= 2) digits += "00";            // hours
        if (digits.size() == 3) digits.insert(0, 1, '0');  // HMM
        if (digits.size() == 6) digits.resize(4);          // HHMMSS
        if (digits.size() % 2 == 0) {
            const long number = std::stol(digits);
            if (number / 100 < 24 && number % 100 < 60) return padded(number, 4);
        }
    }
    return refused_value(ValueType::time, value, "HHMM, HH or HH:MM");
}

/// Hours without leading zeros; what is no whole number of hours keeps its unit.
std::optional<std::string> canonical_hours(std::string_view value) {
    if (value.empty()) return {};
    const char unit = value.back();
    const bool has_unit = unit == 'h' || unit == 'm' || unit == 's' || unit == 'd';
    const auto number = parse_number<long>(has_unit ? value.substr(0, value.size() - 1) : value);
    if (!number || *number < 0 || *number > 1'000'000'000'000) return {};
    if (unit == 'd') return std::to_string(*number * 24);
    const long per_hour = unit == 'm' ? 60 : unit == 's' ? 3600 : 1;
    if (*number % per_hour == 0) return std::to_string(*number / per_hour);
    if (unit == 's' && *number % 60 == 0) return std::to_string(*number / 60) + "m";
    return std::to_string(*number) + unit;
}

Result<std::string> canonical_step(std::string_view value) {
    const std::size_t dash = value.find('-', 1);
    const auto first = canonical_hours(value.substr(0, dash));
    if (first && dash == std::string_view::npos) return *first;
    if (first) {
        if (const auto last = canonical_hours(value.substr(dash + 1))) return *first + "-" + *last;
    }
    return refused_value(ValueType::step, value, "hours as 24, 90m, or a range 0-24");
}

Result<std::string> canonical_param(std::string_view value) {
    if (value.empty()) return refused_value(ValueType::param, value, "a number or a short name");
    const std::size_t dot = value.find('.');
    const auto number = parse_number<long>(value.substr(0, dot));
    if (number && *number >= 0 && dot == std::string_view::npos) return std::to_string(*number);
    if (number && *number >= 0) {
        // "130.128" is parameter 130 of table 128, the default one; others count in thousands.
        const auto table = parse_number<long>(value.substr(dot + 1));
        if (!table || *table < 0 || *table > 100'000)
            return refused_value(ValueType::param, value, "number.table");
        return std::to_string(*table == 128 || *table == 0 ? *number : *table * 1000 + *number);
    }
    std::string name = lowered(value);
    const std::string_view known = param_number(name);
    return known.empty() ? std::move(name) : std::string(known);
}

Result<std::string> canonical_real(std::string_view value) {
    const auto number = parse_number<double>(value);
    if (!number || !std::isfinite(*number)) return refused_value(ValueType::real, value, "a number");
    std::array<char, 64> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), *number + 0.0);
    if (error != std::errc()) return refused_value(ValueType::real, value, "a number");
    return std::string(text.data(), end);
}

}  // namespace

std::optional<ValueType> value_type_of(std::string_view name) {
    const auto* found = std::ranges::find(type_names, name, &std::pair<std::string_view, ValueType>::first);
    if (found == type_names.end()) return {};
    return found->second;
}

std::string_view name_of(ValueType type) {
    return std::ranges::find(type_names, type, &std::pair<std::string_view, ValueType>::second)->first;
}

std::string value_type_names() {
    std::string text;
    for (const auto& [name, type] : type_names) text.append(text.empty() ? "" : ", ").append(name);
    return text;
}

std::string nearest_value_type(std::string_view name) {
    std::array<std::string_view, type_names.size()> names;
    std::ranges::transform(type_names, names.begin(), &std::pair<std::string_view, ValueType>::first);
    return nearest_name(name, names);
}

Result<std::string> canonical(ValueType type, std::string_view value, ValueSource source) {
    switch (type) {
        case ValueType::text:
            return std::string(value);
        case ValueType::integer: {
            const auto number = parse_number<std::int64_t>(value);
            if (!number) return refused_value(type, value, "a whole number");
            return std::to_string(*number);
        }
        case ValueType::real:
            return canonical_real(value);
        case ValueType::date: {
            const auto date = parse_date(value, source);
            if (!date) return refused_value(type, value, "YYYYMMDD or YYYY-MM-DD");
            return text_of(*date);
        }
        case ValueType::time:
            return canonical_time(value);
        case ValueType::step:
            return canonical_step(value);
        case ValueType::param:
            return canonical_param(value);
        case ValueType::expver:
            if (value.empty() || value.size() > 4)
                return refused_value(type, value, "one to four characters");
            return std::string(4 - value.size(), '0') + lowered(value);
        case ValueType::grid: {
            std::string grid(value);
            std::ranges::replace(grid, '/', '+');
            return grid;
        }
        case ValueType::first3:
            return std::string(value.substr(0, 3));
        case ValueType::lowercase:
            return lowered(value);
        case ValueType::ignore:
            return std::string();
        default:
            return date_part(type, value, source);
    }
}

std::optional<double> number_of(ValueType type, std::string_view value) {
    if (type == ValueType::date) {
        const auto date = parse_date(value, ValueSource::field);
        if (!date) return {};
        return static_cast<double>(std::chrono::sys_days(*date).time_since_epoch().count());
    }
    const auto number = parse_number<double>(value);
    if (type == ValueType::time && number) {
        return std::floor(*number / 100) * 60 + std::fmod(*number, 100);
    }
    if (type == ValueType::step && !number && !value.empty()) {
        const double unit = value.back() == 'm' ? 60 : value.back() == 's' ? 3600 : 0;
        const auto part = parse_number<double>(value.substr(0, value.size() - 1));
        return unit > 0 && part ? std::optional(*part / unit) : std::nullopt;
    }
    return number;
}

double range_unit(ValueType type) {
    return type == ValueType::time ? 60 : 1;
}

bool value_less(std::string_view a, std::string_view b) {
    struct Place {
        double first, last;  ///< infinite: no number
    };
    const auto leading = [](std::string_view text) {
        double number = std::numeric_limits<double>::infinity();
        if (!text.empty() && (text[0] == '-' || text[0] == '.' || (text[0] >= '0' && text[0] <= '9'))) {
            const char* const end = std::from_chars(text.data(), text.data() + text.size(), number).ptr;
            text.remove_prefix(static_cast<std::size_t>(end - text.data()));
            if (const std::string_view unit = text.substr(0, text.find('-')); unit == "m" || unit == "s")
                number /= unit == "m" ? 60 : 3600;
        }
        return std::isnan(number) ? std::numeric_limits<double>::infinity() : number;
    };
    // "0" before "0-6" before "0-24", and "90m" of a step between "1" and "2".
    const auto place = [&](std::string_view text) {
        const std::size_t dash = text.find('-', 1);
        constexpr double none = -std::numeric_limits<double>::infinity();
        return Place{leading(text), dash == std::string_view::npos ? none : leading(text.substr(dash + 1))};
    };
    const Place first = place(a), second = place(b);
    if (first.first != second.first) return first.first < second.first;
    if (std::isfinite(first.first) && first.last != second.last) return first.last < second.last;
    return a < b;
}

}  // namespace hakobi::store
