#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "entrant.hpp"
#include "halo/case.hpp"
#include "site.hpp"

namespace hakobi::bench {

/// A part of a field, or of a buffer, of doubles: runs of `length` values in two dimensions of them.
struct Runs {
    std::int64_t offset = 0, length = 0;
    std::array<std::int64_t, 2> num{1, 1}, strides{0, 0};
    [[nodiscard]] std::int64_t num_values() const { return num[0] * num[1] * length; }
};
/// The runs of a field in three dimensions with one component.
[[nodiscard]] Runs runs_of(const HaloCase& halo_case, const Subarray& part);
/// The part's values one after the other, from `offset` on.
[[nodiscard]] Runs packed(const Runs& part, std::int64_t offset);
[[nodiscard]] device::Copy copy_of(double* to, const Runs& into, const double* from, const Runs& out);

/// A field on the device, with what it is filled and compared by.
class OnDevice : public DeviceEntrant {
  public:
    /// Collective.
    OnDevice(DeviceSite& site, const HaloCase& halo_case);
    void fill(int round) override;
    [[nodiscard]] std::int64_t count_wrong(int round) override;

  protected:
    [[nodiscard]] double* values() { return reinterpret_cast<double*>(field_.data()); }
    [[nodiscard]] DeviceSite& site() { return site_; }

  private:
    [[nodiscard]] std::int64_t bytes() const;

    DeviceSite& site_;
    HaloCase case_;
    std::vector<double> host_;
    device::Buffer field_;
};

}  // namespace hakobi::bench
