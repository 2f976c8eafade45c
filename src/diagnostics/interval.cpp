#include "diagnostics/interval.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace hakobi::diagnostics {
namespace {

/// An end may be missed by so much of the interval's length, or of the step to it: ten million steps of 0.1
/// add up to 1.6e-4 less than a million.
constexpr double of_length = 1e-9, of_step = 0.01;

/// A word in small letters, without blanks around it.
std::string plain(std::string_view text) {
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    std::string word(text);
    if (word.size() > 1)  // UDUNITS' H is the henry
        for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return word;
}

bool is_one_of(std::string_view word, std::string_view singular) {
    return word == singular || (word.ends_with('s') && word.substr(0, word.size() - 1) == singular);
}

}  // namespace

Result<Interval> Interval::parse(std::string_view every, std::string_view time_units,
                                 std::string_view calendar) {
    const auto wrong = [&](const std::string& why) {
        return Status(ErrorCode::invalid_argument, "every '" + std::string(every) + "': " + why);
    };
    Interval interval;
    if (every.empty()) return interval;
    if (plain(every) == "run") {
        interval.kind_ = Kind::run;
        return interval;
    }
    while (every.starts_with(' ')) every.remove_prefix(1);
    double number = 1;
    const auto [end, error] = std::from_chars(every.data(), every.data() + every.size(), number);
    const bool has_number = error == std::errc();
    const std::string unit =
        plain(has_number ? every.substr(static_cast<std::size_t>(end - every.data())) : every);
    if (!(number > 0) || !std::isfinite(number)) return wrong("it is not more than 0");
    const bool is_of_steps = is_one_of(unit, "step"), is_of_years = is_one_of(unit, "year");
    if (is_of_steps || is_of_years || is_one_of(unit, "month")) {
        if (number != std::floor(number) || number > 1e9)
            return wrong("it is a whole number of " + std::string(unit));
        interval.count_ = static_cast<std::int64_t>(number) * (is_of_years ? 12 : 1);
        if (is_of_steps) return interval;
        interval.kind_ = Kind::months;
        Result<format::Months> months = format::Months::of(time_units, calendar);
        if (!months.ok()) return wrong(months.status().text());
        interval.months_ = std::move(months).value();
        return interval;
    }
    interval.kind_ = Kind::time;
    interval.length_ = number;
    if (unit.empty()) return interval;
    const bool is_one_word = unit.find(' ') == std::string::npos;
    const std::optional<double> unit_s = is_one_word ? format::seconds_of_unit(unit) : std::nullopt;
    if (!unit_s)
        return wrong("'" + std::string(unit) +
                     "' is none of steps, s, min, h, days, months, years; and 'run' is all of the run");
    const std::optional<double> time_s = format::seconds_of_unit(time_units, calendar);
    if (!time_s)
        return wrong("time_units '" + std::string(time_units) +
                     "' have no length in seconds: give a number alone, in these units");
    interval.length_ = number * (*unit_s / *time_s);
    return interval;
}

double Interval::end_after(double time) const {
    if (kind_ == Kind::time) {
        double end = std::ceil(time / length_) * length_;
        if (is_end(time, end)) end = (std::round(time / length_) + 1) * length_;
        return end;
    }
    if (kind_ != Kind::months) return std::numeric_limits<double>::infinity();
    std::int64_t month = months_.month_at(time);
    if (is_end(time, months_.begin_of(month + 1))) ++month;
    const std::int64_t in_interval = ((month % count_) + count_) % count_;
    return months_.begin_of(month - in_interval + count_);
}

bool Interval::is_end(double time, double end, double step) const {
    if (!std::isfinite(end)) return false;
    return std::fabs(time - end) <= std::max(of_length * length(), of_step * step);
}

double Interval::length() const {
    return kind_ == Kind::months ? months_.begin_of(1) - months_.begin_of(0) : length_;
}

}  // namespace hakobi::diagnostics
