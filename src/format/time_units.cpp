#include "format/time_units.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace hakobi::format {
namespace {

/// The words that may stand before "since": the names that UDUNITS, cftime and xarray all know, in small
/// letters.
struct TimeUnit {
    std::string_view name;
    double seconds = 0;
    std::string_view calendars =
        {};  ///< those in which it is one length, each with a blank behind it; "": all
};
constexpr double minute_s = 60, hour_s = 3600, day_s = 86400;
constexpr std::string_view of_360_day = "360_day ", of_365_day = "noleap 365_day ";
constexpr std::array time_units_of_cf{
    TimeUnit{"d", day_s},
    TimeUnit{"day", day_s},
    TimeUnit{"days", day_s},
    TimeUnit{"h", hour_s},
    TimeUnit{"hr", hour_s},
    TimeUnit{"hrs", hour_s},
    TimeUnit{"hour", hour_s},
    TimeUnit{"hours", hour_s},
    TimeUnit{"min", minute_s},
    TimeUnit{"mins", minute_s},
    TimeUnit{"minute", minute_s},
    TimeUnit{"minutes", minute_s},
    TimeUnit{"s", 1},
    TimeUnit{"sec", 1},
    TimeUnit{"secs", 1},
    TimeUnit{"second", 1},
    TimeUnit{"seconds", 1},
    TimeUnit{"ms", 1e-3},
    TimeUnit{"msec", 1e-3},
    TimeUnit{"msecs", 1e-3},
    TimeUnit{"millisec", 1e-3},
    TimeUnit{"millisecs", 1e-3},
    TimeUnit{"millisecond", 1e-3},
    TimeUnit{"milliseconds", 1e-3},
    TimeUnit{"microsec", 1e-6},
    TimeUnit{"microsecs", 1e-6},
    TimeUnit{"microsecond", 1e-6},
    TimeUnit{"microseconds", 1e-6},
    // UDUNITS' month is a twelfth of its year, 30.436875 days, and others' is the calendar's: one length in
    // this calendar alone.
    TimeUnit{"month", 30 * day_s, of_360_day},
    TimeUnit{"months", 30 * day_s, of_360_day},
    TimeUnit{"common_year", 365 * day_s, of_365_day},
    TimeUnit{"common_years", 365 * day_s, of_365_day},
};

constexpr std::array<std::string_view, 12> month_names{"January",   "February", "March",    "April",
                                                       "May",       "June",     "July",     "August",
                                                       "September", "October",  "November", "December"};

bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_date_begin(char c) {
    return is_digit(c) || c == '+' || c == '-';
}

std::string in_small_letters(std::string_view text) {
    std::string small(text);
    for (char& c : small) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    return small;
}

/// Reads from the front of a text; what it does not find stays.
class Scanner {
  public:
    explicit Scanner(std::string_view text) : rest_(text) {}
    [[nodiscard]] bool is_at_end() const { return rest_.empty(); }
    bool skip_blanks() {
        const std::size_t before = rest_.size();
        while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
        return rest_.size() != before;
    }
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }
    std::string_view take_word() {
        std::size_t length = 0;
        while (length < rest_.size() && !is_blank(rest_[length])) ++length;
        const std::string_view word = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return word;
    }
    /// Takes a number of `least` to `most` digits.
    std::optional<std::int64_t> take_number(std::size_t least, std::size_t most) {
        std::size_t length = 0;
        while (length < rest_.size() && is_digit(rest_[length])) ++length;
        if (length < least || length > most) return std::nullopt;
        std::int64_t number = 0;
        std::from_chars(rest_.data(), rest_.data() + length, number);
        rest_.remove_prefix(length);
        return number;
    }
    [[nodiscard]] std::string_view rest() const { return rest_; }

  private:
    std::string_view rest_;
};

struct Date {
    std::int64_t year = 0, month = 0, day = 0;
};

/// Whether the calendar has the year before 1 as year 0: else as -1.
bool has_year_zero(std::string_view calendar) {
    return calendar != "standard" && calendar != "gregorian" && calendar != "julian";
}

bool is_leap(std::int64_t year, std::string_view calendar) {
    if (calendar == "noleap" || calendar == "365_day") return false;
    if (calendar == "all_leap" || calendar == "366_day") return true;
    const std::int64_t astronomical = year < 0 && !has_year_zero(calendar) ? year + 1 : year;
    if (astronomical % 4 != 0) return false;
    const bool is_julian = calendar == "julian" || (calendar != "proleptic_gregorian" && year < 1582);
    return is_julian || astronomical % 100 != 0 || astronomical % 400 == 0;
}

std::int64_t days_in_month(const Date& date, std::string_view calendar) {
    constexpr std::array<std::int64_t, 12> usual{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (calendar == "360_day") return 30;
    if (date.month == 2) return is_leap(date.year, calendar) ? 29 : 28;
    return usual[static_cast<std::size_t>(date.month - 1)];
}

std::string wrong_date(const Date& date, std::string_view calendar) {
    const std::string in_calendar = " in the calendar " + std::string(calendar);
    if (date.month < 1 || date.month > 12) return "there is no month " + std::to_string(date.month);
    if (date.year == 0 && !has_year_zero(calendar)) return "there is no year 0" + in_calendar;
    const std::int64_t most = days_in_month(date, calendar);
    const std::string month(month_names[static_cast<std::size_t>(date.month - 1)]);
    if (date.day < 1 || date.day > most)
        return month + " " + std::to_string(date.year) + " has " + std::to_string(most) + " days" +
               in_calendar;
    const bool skips = calendar == "standard" || calendar == "gregorian";
    if (skips && date.year == 1582 && date.month == 10 && date.day > 4 && date.day < 15)
        return "4 October 1582 is followed by 15 October" + in_calendar;
    return {};
}

/// "10:30:00.5", also without seconds, or minutes: `since_midnight_s` becomes it.
std::string wrong_time(Scanner& text, double& since_midnight_s) {
    const std::string unreadable = "the time of day is not hours:minutes:seconds";
    const auto hours = text.take_number(1, 2);
    if (!hours) return unreadable;
    if (*hours > 23) return "a day has no hour " + std::to_string(*hours);
    since_midnight_s = static_cast<double>(*hours) * hour_s;
    if (!text.take(':')) return {};
    const auto minutes = text.take_number(1, 2);
    if (!minutes) return unreadable;
    if (*minutes > 59) return "an hour has no minute " + std::to_string(*minutes);
    since_midnight_s += static_cast<double>(*minutes) * minute_s;
    if (!text.take(':')) return {};
    const auto seconds = text.take_number(1, 2);
    if (!seconds) return unreadable;
    if (*seconds > 59) return "a minute has no second " + std::to_string(*seconds);
    since_midnight_s += static_cast<double>(*seconds);
    if (!text.take('.')) return {};
    const std::size_t before = text.rest().size();
    const auto fraction = text.take_number(1, 9);
    if (!fraction) return unreadable;
    since_midnight_s +=
        static_cast<double>(*fraction) / std::pow(10.0, static_cast<double>(before - text.rest().size()));
    return {};
}

/// "Z", "UTC", "-6:00", "+09:00", "+0900", "+9".
std::string wrong_zone(Scanner& text) {
    const std::string_view zone = text.rest();
    const std::string name = in_small_letters(text.take_word());
    if (name == "z" || name == "utc" || name == "gmt") return {};
    Scanner offset(name);
    const bool has_sign = offset.take('+') || offset.take('-');
    std::optional<std::int64_t> hours = offset.take_number(1, 2), minutes = 0;
    if (hours && offset.take(':')) minutes = offset.take_number(2, 2);
    if (const auto both = hours ? std::nullopt : offset.take_number(4, 4)) {
        hours = *both / 100;
        minutes = *both % 100;
    }
    if (has_sign && hours && minutes && *hours <= 18 && *minutes <= 59 && offset.is_at_end()) return {};
    return "'" + std::string(zone) +
           "' is no time zone that all readers know: give UTC, or its offset as +09:00";
}

/// The moment that times count from.
struct Reference {
    Date date = {};
    double since_midnight_s = 0;
    bool has_zone = false;
};

/// Reads a reference like "2000-01-01 10:30:00 +09:00". Says what is wrong with it; "" where nothing is.
std::string wrong_reference(std::string_view text_of_it, std::string_view calendar, Reference& reference) {
    const std::string unreadable =
        "what follows 'since' is not a date as 2000-01-01, with a time as 10:30:00 at most";
    Scanner text(text_of_it);
    text.skip_blanks();
    Date& date = reference.date;
    const bool is_negative = text.take('-');
    if (!is_negative) text.take('+');
    const auto year = text.take_number(1, 6);
    const bool has_month = year && text.take('-');
    const auto month = has_month ? text.take_number(1, 2) : std::nullopt;
    const bool has_day = month && text.take('-');
    const auto day = has_day ? text.take_number(1, 2) : std::nullopt;
    if (!day) return unreadable;
    date = {is_negative ? -*year : *year, *month, *day};
    if (std::string wrong = wrong_date(date, calendar); !wrong.empty()) return wrong;
    bool is_apart = text.skip_blanks();
    if (text.is_at_end()) return {};
    const bool has_time = text.take('T') || text.take('t') || (is_apart && is_digit(text.rest().front()));
    if (has_time) {
        if (std::string wrong = wrong_time(text, reference.since_midnight_s); !wrong.empty()) return wrong;
        is_apart = text.skip_blanks();
        if (text.is_at_end()) return {};
    } else if (!is_apart || text.rest().starts_with('+') || text.rest().starts_with('-')) {
        return unreadable;
    }
    const std::string zone = in_small_letters(text.rest());
    reference.has_zone = !zone.starts_with("z") && !zone.starts_with("utc") && !zone.starts_with("gmt");
    if (std::string wrong = wrong_zone(text); !wrong.empty()) return wrong;
    text.skip_blanks();
    return text.is_at_end() ? std::string() : unreadable;
}

/// The unit of that name; null where there is none.
const TimeUnit* find_unit(std::string_view unit) {
    // UDUNITS takes single letters by their case: H is the henry.
    const std::string name = unit.size() == 1 ? std::string(unit) : in_small_letters(unit);
    const auto* const known = std::ranges::find(time_units_of_cf, name, &TimeUnit::name);
    return known == time_units_of_cf.end() ? nullptr : known;
}

/// Whether the unit has one length in the calendar; "": in all.
bool has_one_length(const TimeUnit& unit, std::string_view calendar) {
    return unit.calendars.empty() ||
           (!calendar.empty() && unit.calendars.find(std::string(calendar) + " ") != std::string_view::npos);
}

std::string wrong_unit(std::string_view unit, std::string_view calendar) {
    const TimeUnit* const known = find_unit(unit);
    if (known == nullptr) {
        return "'" + std::string(unit) +
               "' is no unit that readers count from a date: use days, hours, minutes, seconds, milliseconds "
               "or "
               "microseconds";
    }
    if (has_one_length(*known, calendar)) return {};
    return "readers know no " + std::string(known->name) + " in the calendar " + std::string(calendar) +
           ": use days";
}

/// Whether UDUNITS takes the word before a date for "since", which is the only one that readers of CF know.
bool means_since(std::string_view word) {
    constexpr std::array<std::string_view, 5> words{"since", "after", "from", "ref", "@"};
    return std::ranges::find(words, in_small_letters(word)) != words.end();
}

}  // namespace

bool counts_from_a_date(std::string_view units) {
    return units.find(" since ") != std::string_view::npos;
}

Status check_time_units(std::string_view what, std::string_view units, std::string_view calendar) {
    const auto wrong = [&](const std::string& why) {
        return Status(ErrorCode::invalid_argument,
                      std::string(what) + " '" + std::string(units) + "': " + why);
    };
    if (calendar.empty()) calendar = "standard";
    Scanner text(units);
    text.skip_blanks();
    const std::string_view unit = text.take_word();
    text.skip_blanks();
    const std::string_view word = text.take_word();
    text.skip_blanks();
    const bool has_date = means_since(word) && !text.is_at_end() && is_date_begin(text.rest().front());
    const bool names_since = in_small_letters(units).find("since") != std::string::npos;
    if (!has_date && !names_since) return {};
    if (word != "since" || !counts_from_a_date(units)) {
        return wrong(
            "units that count from a date are a unit, the word 'since' in small letters and a date, with "
            "blanks "
            "between, as 'days since 2000-01-01'");
    }
    if (std::string why = wrong_unit(unit, calendar); !why.empty()) return wrong(why);
    Reference reference;
    if (std::string why = wrong_reference(text.rest(), calendar, reference); !why.empty()) return wrong(why);
    return {};
}

std::optional<double> seconds_of_unit(std::string_view units, std::string_view calendar) {
    Scanner text(units);
    text.skip_blanks();
    const TimeUnit* const unit = find_unit(text.take_word());
    return unit != nullptr && has_one_length(*unit, calendar) ? std::optional(unit->seconds) : std::nullopt;
}

Result<Months> Months::of(std::string_view units, std::string_view calendar) {
    const auto wrong = [&](const std::string& why) {
        return Status(ErrorCode::invalid_argument, "time_units '" + std::string(units) + "': " + why);
    };
    const std::size_t since = units.find(" since ");
    const std::optional<double> unit_s = seconds_of_unit(units, calendar);
    if (since == std::string_view::npos || !unit_s) return wrong("months need times that count from a date");
    Months months;
    months.calendar_ = calendar.empty() ? "standard" : calendar;
    months.unit_s_ = *unit_s;
    Reference reference;
    const std::string why = wrong_reference(units.substr(since + 7), months.calendar_, reference);
    if (!why.empty()) return wrong(why);
    if (reference.has_zone) return wrong("months need a date without a time zone");
    Date& date = reference.date;
    if (date.year < 0 && !has_year_zero(months.calendar_)) ++date.year;
    months.reference_month_ = date.year * 12 + date.month - 1;
    months.reference_day_ = months.first_day_of(months.reference_month_) + date.day - 1;
    // The days that October 1582 lacks.
    if (months.is_mixed() && date.year == 1582 && date.month == 10 && date.day > 4)
        months.reference_day_ -= 10;
    months.since_midnight_s_ = reference.since_midnight_s;
    return months;
}

bool Months::is_mixed() const {
    return calendar_ == "standard" || calendar_ == "gregorian";
}

std::int64_t Months::first_day_of(std::int64_t month) const {
    const std::int64_t year = month >= 0 ? month / 12 : -((11 - month) / 12), in_year = month - year * 12;
    if (calendar_ == "360_day") return 30 * month;
    constexpr std::array<std::int64_t, 12> before{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
    const std::int64_t days = before[static_cast<std::size_t>(in_year)];
    if (calendar_ == "noleap" || calendar_ == "365_day") return 365 * year + days;
    if (calendar_ == "all_leap" || calendar_ == "366_day")
        return 366 * year + days + static_cast<std::int64_t>(in_year > 1);
    // Years that begin in March, counted from so early that all are positive: a leap day ends one.
    const std::int64_t moved = in_year < 2 ? year + 400'399 : year + 400'400,
                       since_march = (in_year + 10) % 12;
    const std::int64_t julian = 365 * moved + moved / 4 + (153 * since_march + 2) / 5;
    const bool is_julian = calendar_ == "julian" || (is_mixed() && month <= 1582 * 12 + 9);
    constexpr std::int64_t apart = 400'400 / 100 - 400'400 / 400 + 2;  // of the two calendars' numbers
    return is_julian ? julian : julian - moved / 100 + moved / 400 + apart;
}

std::int64_t Months::month_at(double time) const {
    const double days = std::floor((since_midnight_s_ + time * unit_s_) / day_s);
    const std::int64_t day = reference_day_ + static_cast<std::int64_t>(days);
    auto month = reference_month_ + static_cast<std::int64_t>(std::floor(days / 30.4));
    while (first_day_of(month) > day) --month;
    while (first_day_of(month + 1) <= day) ++month;
    return month;
}

double Months::begin_of(std::int64_t month) const {
    return (static_cast<double>(first_day_of(month) - reference_day_) * day_s - since_midnight_s_) / unit_s_;
}

}  // namespace hakobi::format
