#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::format {

/// Returns invalid_argument unless `calendar` is one of CF's (4.4.1) and the units count from a date; "" is
/// right with all units. Pure.
Status check_calendar(std::string_view calendar, std::string_view time_units);

/// Returns the calendar that a file states for times in these units: `named`, or CF's default "standard" if
/// that is ""; "" for times that do not count from a date. Pure.
[[nodiscard]] std::string calendar_of(std::string_view time_units, std::string_view named);

/// Whether the two names mean the same calendar: CF has two names for most. Pure.
[[nodiscard]] bool is_same_calendar(std::string_view a, std::string_view b);

}  // namespace hakobi::format
