#pragma once

#include <string_view>

#include "base/status.hpp"

namespace hakobi::format {

/// Whether times in these units count from a date, "days since 2000-01-01": seconds of model time have no
/// calendar. Pure.
[[nodiscard]] bool counts_from_a_date(std::string_view units);

/// invalid_argument where units that count from a date cannot be read by CF's rules (4.4): "<unit> since
/// <date> [time] [zone]", with a date that `calendar` has ("": standard) and a unit of one length there.
/// Other units pass. `what` begins the error's text. Pure.
Status check_time_units(std::string_view what, std::string_view units, std::string_view calendar);

}  // namespace hakobi::format
