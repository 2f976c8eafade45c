#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <vector>

namespace hakobi::tsunami {

inline constexpr double earth_radius_m = 6'371'000.0;
inline constexpr double gravity_m_s2 = 9.81;
inline constexpr double earth_rotation_rad_s = 7.292115e-5;

[[nodiscard]] double radians(double degrees);

/// A latitude-longitude box in degrees; east may exceed 180 (the Pacific is 120 to 240).
struct Region {
    double west = 120, east = 240, south = -5, north = 62;
    friend bool operator==(const Region&, const Region&) = default;
};

/// A regular latitude-longitude grid of cells: row 0 is the southernmost, column 0 the westernmost.
struct Grid {
    Region region;
    std::int64_t num_rows = 0, num_columns = 0;
    double cell_height_deg = 0, cell_width_deg = 0;

    [[nodiscard]] double latitude_deg(std::int64_t row) const;  ///< of a cell's centre
    [[nodiscard]] double longitude_deg(std::int64_t column) const;
    [[nodiscard]] double face_latitude_deg(std::int64_t row) const;  ///< of a row's southern edge
    [[nodiscard]] double dx_m(std::int64_t row) const;               ///< width of a cell at its centre
    [[nodiscard]] double dy_m() const;
    [[nodiscard]] double area_m2(std::int64_t row) const;  ///< dx_m x dy_m: the area that the scheme uses
    [[nodiscard]] std::vector<double> latitudes_deg() const;
    [[nodiscard]] std::vector<double> longitudes_deg() const;
};

/// The grid whose cells are as near as possible to `resolution_arcmin` on a side while they fill `region`
/// exactly. Throws invalid_argument for a region that is empty, reaches 80 degrees of latitude or more (cells
/// would become slivers), or has fewer than 4 cells a side.
[[nodiscard]] Grid make_grid(const Region& region, double resolution_arcmin);

}  // namespace hakobi::tsunami
