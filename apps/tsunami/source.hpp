#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::tsunami {

inline constexpr std::string_view tohoku_2011_time_units = "seconds since 2011-03-11 05:46:24";

/// One rectangle of a finite fault model.
struct Subfault {
    double longitude_deg, latitude_deg, depth_km;  ///< its middle
    double slip_m;
    double rake_deg, strike_deg, dip_deg;
    double start_s, rise_s, fall_s;  ///< when slip begins, and how long its rate grows and falls
};

/// A rupture: rectangles of one size, times after the earthquake's origin.
struct Rupture {
    double length_km = 0, width_km = 0;
    std::vector<Subfault> subfaults;
};

/// Reads data/rupture_tohoku_2011.json or a file like it. Local. Throws not_found or format.
[[nodiscard]] Rupture read_rupture(const std::string& path);

/// How much of a subfault's slip has happened at a time, 0 to 1: the integral of a slip rate that rises and
/// falls as half cosines of different length (C. Ji, D. V. Helmberger, D. J. Wald, K.-F. Ma, Slip history and
/// dynamic implications of the 1999 Chi-Chi, Taiwan, earthquake, Journal of Geophysical Research 108 (2003),
/// 2412). Pure.
[[nodiscard]] double slip_fraction(const Subfault& subfault, double time_s);

/// Final vertical displacement of the ground by one subfault of `rupture`, m: Okada's solution in a plane
/// that touches the sphere at the subfault. Local, pure.
[[nodiscard]] double uplift_m(const Rupture& rupture, const Subfault& subfault, double longitude_deg,
                              double latitude_deg);

/// The vertical motion of the ground during a rupture: on a net of nodes around the fault, in slices of time,
/// linear between both. Towards the net's edge (two degrees from the fault and further) it fades out over one
/// more.
class GroundMotion {
  public:
    /// Collective over `comm`, `rupture` equal on all ranks, which share the work. The values are the same
    /// for any number of ranks.
    GroundMotion(const Comm& comm, const Rupture& rupture);

    /// When the ground has come to rest.
    [[nodiscard]] double end_s() const { return slice_s * static_cast<double>(num_slices_); }
    /// Sets what `increment_m` then gives: the motion from one time to another. Local.
    void set_interval(double from_s, double to_s);
    [[nodiscard]] double increment_m(double longitude_deg, double latitude_deg) const;

  private:
    static constexpr double step_deg = 1.0 / 12, margin_deg = 2, fade_deg = 1;
    static constexpr double slice_s = 10;

    [[nodiscard]] std::size_t node(std::int64_t row, std::int64_t column) const {
        return static_cast<std::size_t>(row * num_columns_ + column);
    }

    double west_deg_ = 0, south_deg_ = 0;
    std::int64_t num_rows_ = 0, num_columns_ = 0, num_slices_ = 0;
    std::vector<std::vector<double>> uplift_m_;  ///< at the end of each slice, by node
    std::vector<double> increment_m_;            ///< of the interval, by node
};

}  // namespace hakobi::tsunami
