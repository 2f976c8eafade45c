#include "grid.hpp"

#include <cmath>
#include <hakobi/error.hpp>
#include <numbers>
#include <string>

namespace hakobi::tsunami {

double radians(double degrees) {
    return degrees * (std::numbers::pi / 180.0);
}

double Grid::latitude_deg(std::int64_t row) const {
    return region.south + (static_cast<double>(row) + 0.5) * cell_height_deg;
}
double Grid::longitude_deg(std::int64_t column) const {
    return region.west + (static_cast<double>(column) + 0.5) * cell_width_deg;
}
double Grid::face_latitude_deg(std::int64_t row) const {
    return region.south + static_cast<double>(row) * cell_height_deg;
}
double Grid::dx_m(std::int64_t row) const {
    return earth_radius_m * radians(cell_width_deg) * std::cos(radians(latitude_deg(row)));
}
double Grid::dy_m() const {
    return earth_radius_m * radians(cell_height_deg);
}
double Grid::area_m2(std::int64_t row) const {
    return dx_m(row) * dy_m();
}

std::vector<double> Grid::latitudes_deg() const {
    std::vector<double> values(static_cast<std::size_t>(num_rows));
    for (std::int64_t row = 0; row < num_rows; ++row)
        values[static_cast<std::size_t>(row)] = latitude_deg(row);
    return values;
}
std::vector<double> Grid::longitudes_deg() const {
    std::vector<double> values(static_cast<std::size_t>(num_columns));
    for (std::int64_t column = 0; column < num_columns; ++column) {
        values[static_cast<std::size_t>(column)] = longitude_deg(column);
    }
    return values;
}

Grid make_grid(const Region& region, double resolution_arcmin) {
    const auto refuse = [](const std::string& text) { throw Error(ErrorCode::invalid_argument, text); };
    if (!(resolution_arcmin > 0) || !std::isfinite(resolution_arcmin)) {
        refuse("the resolution must be a positive number of arc minutes");
    }
    if (!(region.west < region.east) || !(region.south < region.north)) {
        refuse("the region is empty: give west < east and south < north (east may exceed 180)");
    }
    if (region.south <= -80 || region.north >= 80) refuse("the region must stay between 80 S and 80 N");
    Grid grid{.region = region};
    grid.num_rows = std::llround((region.north - region.south) * 60 / resolution_arcmin);
    grid.num_columns = std::llround((region.east - region.west) * 60 / resolution_arcmin);
    if (grid.num_rows < 4 || grid.num_columns < 4) {
        refuse("the region has fewer than 4 cells a side at this resolution");
    }
    grid.cell_height_deg = (region.north - region.south) / static_cast<double>(grid.num_rows);
    grid.cell_width_deg = (region.east - region.west) / static_cast<double>(grid.num_columns);
    return grid;
}

}  // namespace hakobi::tsunami
