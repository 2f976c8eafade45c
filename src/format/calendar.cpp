#include "format/calendar.hpp"

#include <algorithm>
#include <array>

#include "base/nearest.hpp"
#include "format/time_units.hpp"

namespace hakobi::format {
namespace {

constexpr std::array<std::string_view, 9> calendars{"standard", "gregorian", "proleptic_gregorian",
                                                    "noleap",   "365_day",   "all_leap",
                                                    "366_day",  "360_day",   "julian"};

std::string_view usual_name_of(std::string_view calendar) {
    if (calendar == "gregorian") return "standard";
    if (calendar == "365_day") return "noleap";
    if (calendar == "366_day") return "all_leap";
    return calendar;
}

}  // namespace

Status check_calendar(std::string_view calendar, std::string_view time_units) {
    if (calendar.empty()) return {};
    if (std::ranges::find(calendars, calendar) == calendars.end()) {
        std::string text = "unknown calendar '" + std::string(calendar) + "'";
        const std::string nearest = nearest_name(calendar, calendars);
        if (!nearest.empty()) text += ": did you mean '" + nearest + "'?";
        text += " (known:";
        for (const std::string_view known : calendars)
            text.append(known == calendars.front() ? " " : ", ").append(known);
        return {ErrorCode::invalid_argument, text + ")"};
    }
    if (counts_from_a_date(time_units)) return {};
    return {ErrorCode::invalid_argument,
            "calendar '" + std::string(calendar) +
                "' needs time_units that count from a date, as 'days since 2000-01-01', not '" +
                std::string(time_units) + "'"};
}

std::string calendar_of(std::string_view time_units, std::string_view named) {
    if (!counts_from_a_date(time_units)) return {};
    return named.empty() ? "standard" : std::string(named);
}

bool is_same_calendar(std::string_view a, std::string_view b) {
    return usual_name_of(a) == usual_name_of(b);
}

}  // namespace hakobi::format
