#pragma once

#include <cstdint>
#include <optional>
#include <string>
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

/// Seconds of the first word, the unit of times; nothing of what is no unit, or has no one length in the
/// calendar. Pure.
[[nodiscard]] std::optional<double> seconds_of_unit(std::string_view units, std::string_view calendar = {});

/// The months of a calendar, for times that count from a date in it. Pure.
class Months {
  public:
    /// `units` are what check_time_units accepts, "days since 2000-01-01". invalid_argument where they count
    /// from no date, or from one in a time zone.
    static Result<Months> of(std::string_view units, std::string_view calendar);
    /// The month that a time is in: its year times 12, and 0 to 11. A month's first moment is in it.
    [[nodiscard]] std::int64_t month_at(double time) const;
    /// The time at which a month begins.
    [[nodiscard]] double begin_of(std::int64_t month) const;

  private:
    [[nodiscard]] bool is_mixed() const;  ///< Julian up to October 1582
    [[nodiscard]] std::int64_t first_day_of(std::int64_t month) const;

    std::string calendar_;
    double unit_s_ = 1, since_midnight_s_ = 0;  // of the reference
    std::int64_t reference_month_ = 0, reference_day_ = 0;
};

}  // namespace hakobi::format
