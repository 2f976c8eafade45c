#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "grid.hpp"

namespace hakobi::tsunami {

/// Heights of the ground above mean sea level on a regular net of nodes, as read from a file.
struct Seafloor {
    double west_deg = 0, south_deg = 0, step_deg = 0;
    std::int64_t num_rows = 0, num_columns = 0;
    std::vector<std::int16_t> height_m;  ///< rows from south to north

    [[nodiscard]] double east_deg() const;
    [[nodiscard]] double north_deg() const;
};

/// Reads a NetCDF-4 file with `lat`, `lon` (degrees, one regular step) and `z(lat, lon)` in whole metres, as
/// data/clip_seafloor.py writes it. Local. Throws not_found, permission, format (not HDF5, damaged, other
/// contents).
[[nodiscard]] Seafloor read_seafloor(const std::string& path);

/// Heights of the cells [first_row, first_row + num_rows) x [first_column, …) of `grid`: each cell's mean
/// over the surface that interpolates the nodes bilinearly. That averages where cells are coarser than the
/// nodes and interpolates where they are finer, and the volume of the sea does not depend on the resolution.
/// A cell's value does not depend on the range asked for. Local, pure. Throws invalid_argument where the
/// region leaves the nodes.
[[nodiscard]] std::vector<double> cell_heights_m(const Seafloor& seafloor, const Grid& grid,
                                                 std::int64_t first_row, std::int64_t num_rows,
                                                 std::int64_t first_column, std::int64_t num_columns);

}  // namespace hakobi::tsunami
