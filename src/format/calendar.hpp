#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::format {

/// invalid_argument unless `calendar` is one of CF's (4.4.1), and goes with these units of time; "" does with all.
Status check_calendar(std::string_view calendar, std::string_view time_units);

/// What a file says of times in these units: `named`, CF's default "standard" if that is "", and nothing about times that
/// count from no date.
[[nodiscard]] std::string calendar_of(std::string_view time_units, std::string_view named);

/// Whether the two names mean the same calendar: CF has two for most.
[[nodiscard]] bool is_same_calendar(std::string_view a, std::string_view b);

}  // namespace hakobi::format
