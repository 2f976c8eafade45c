#pragma once

#include <utility>

#include "device/device.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

/// Joins series of runs, in the order in which a walk gives them, to copies of as many dimensions as a device copies at once: the
/// rows of a block that a walk gives one by one, or plane by plane, become one copy. Pure.
class JoinedCopy {
  public:
    /// Whether the copy has the series now: all of it where there was nothing, or where it goes on with what is there.
    bool add(const RunMover::Series& series);
    [[nodiscard]] bool empty() const noexcept { return copy_.length_bytes == 0; }
    /// What there is, and begins anew.
    [[nodiscard]] device::Copy take() { return std::exchange(copy_, {}); }

  private:
    bool goes_on(const RunMover::Series& series);
    bool is_next_of_outer(const RunMover::Series& series);

    device::Copy copy_;  // no bytes: nothing. The inner dimension is the second
};

}  // namespace hakobi::io
