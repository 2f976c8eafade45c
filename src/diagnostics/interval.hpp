#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "base/status.hpp"
#include "format/time_units.hpp"

namespace hakobi::diagnostics {

/// How often an output has a step: every so many steps of the program, or so much time. An interval lies
/// behind its begin and includes its end. Pure.
class Interval {
  public:
    /// "": each step; "10 steps"; "6h", "30 min", "1 day"; "month", "3 months", "year"; "0.25": in the units
    /// of time itself; "run". Lengths of time end at their multiples, counted from time 0, months where the
    /// calendar's begin. invalid_argument where it is none of these, or time's units have no such length.
    static Result<Interval> parse(std::string_view every, std::string_view time_units,
                                  std::string_view calendar);

    [[nodiscard]] bool is_each_step() const { return kind_ == Kind::steps && count_ == 1; }
    /// Ends with the run.
    [[nodiscard]] bool is_run() const { return kind_ == Kind::run; }
    /// Its length is a number of steps, which all count the same.
    [[nodiscard]] std::optional<std::int64_t> steps() const {
        return kind_ == Kind::steps ? std::optional(count_) : std::nullopt;
    }
    /// The end of the interval that a time is in; for a time that is one's end, the next one's. Infinity of
    /// those that do not end at a time.
    [[nodiscard]] double end_after(double time) const;
    /// Whether a time is such an end, but for what adding up steps of this length has rounded.
    [[nodiscard]] bool is_end(double time, double end, double step = 0) const;

    /// Whether an interval ends at the time.
    [[nodiscard]] bool is_on_end(double time) const { return is_end(time, end_after(time - length() / 4)); }

  private:
    [[nodiscard]] double length() const;

    enum class Kind { steps, time, months, run };

    Kind kind_ = Kind::steps;
    std::int64_t count_ = 1;  // steps or months
    double length_ = std::numeric_limits<double>::infinity();
    format::Months months_;
};

}  // namespace hakobi::diagnostics
