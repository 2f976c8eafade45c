#pragma once

#include <span>
#include <string_view>

namespace hakobi::tsunami {

/// One of NOAA's unit sources with the slip that an inversion gave it: a pure thrust on a rectangular fault.
struct UnitSource {
    std::string_view name;
    double longitude_deg, latitude_deg;  ///< middle of the lower edge
    double strike_deg, dip_deg;
    double top_depth_km;
    double slip_m;
};
inline constexpr double unit_source_length_km = 100;
inline constexpr double unit_source_width_km = 50;

/// The earthquake of 11 March 2011 off Tohoku, origin time 05:46:24 UTC.
///
/// Slips: NOAA Center for Tsunami Research's inversion of the tsunami's first deep-ocean records,
/// 4.66 b24 + 12.23 b25 + 26.31 a26 + 21.27 b26 + 22.75 a27 + 4.98 b27 (https://nctr.pmel.noaa.gov/honshu20110311/;
/// L. Tang et al., Direct energy estimation of the 2011 Japan tsunami using deep-ocean pressure measurements,
/// Journal of Geophysical Research 117 (2012), C08008).
/// Geometry: NOAA's propagation data base, Kamchatka-Kuril-Japan-Izu-Mariana-Yap subduction zone (E. Gica et al.,
/// Development of the forecast propagation database for NOAA's short-term inundation forecast for tsunamis (SIFT),
/// NOAA Technical Memorandum OAR PMEL-139, 2008; the table info_sz.dat of the same data base).
[[nodiscard]] std::span<const UnitSource> tohoku_2011();

inline constexpr std::string_view tohoku_2011_time_units = "seconds since 2011-03-11 05:46:24";

/// Vertical displacement of the sea floor in metres at a place: the sum of the sources' Okada solutions, each in a
/// plane that touches the sphere at its source. Beyond 1,000 km of a source its part is below a millimetre or so and
/// is left out. Local, pure.
[[nodiscard]] double uplift_m(std::span<const UnitSource> sources, double longitude_deg, double latitude_deg);

}  // namespace hakobi::tsunami
