#pragma once

#include <utility>

#include "device/device.hpp"

namespace hakobi::device {

/// Joins runs, and series of them, in the order in which they are given, to copies of as many dimensions as a
/// device copies at once: the rows of a block that come one by one, or plane by plane, become one copy. Pure.
class JoinedCopy {
  public:
    /// Whether the copy has the series now: all of it where there was nothing, or where it goes on with what
    /// is there. `series` has one dimension, the second.
    bool add(const Copy& series);
    [[nodiscard]] bool empty() const noexcept { return copy_.length_bytes == 0; }
    /// Returns the copy joined so far and starts an empty one.
    [[nodiscard]] Copy take() { return std::exchange(copy_, {}); }

  private:
    bool goes_on(const Copy& series);
    bool is_next_of_outer(const Copy& series);

    Copy copy_;  // no bytes: nothing. The inner dimension is the second
};

}  // namespace hakobi::device
