#pragma once

#include <cstdint>
#include <vector>

namespace hakobi::weather {

/// A Gaussian grid, regular or reduced: rows from north to south, the first point of each on 0 east.
struct GaussianGrid {
    std::vector<double> sin_latitude;  ///< of each row
    std::vector<double> weight;  ///< of each row's mean in an integral over sin(latitude); they sum to 2
    std::vector<std::int64_t> points;  ///< on each row

    [[nodiscard]] std::int64_t num_rows() const { return static_cast<std::int64_t>(points.size()); }
    [[nodiscard]] std::int64_t num_points() const;
};

/// Rows of `points` each. Their number is even and at least 2.
GaussianGrid gaussian_grid(std::vector<std::int64_t> points);

/// Points on the rows of a small reduced grid, for tests: the octahedral rule, 20 on the first and 4 more on
/// each that follows, to the equator and back.
std::vector<std::int64_t> octahedral_rows(int num_rows_to_equator);

}  // namespace hakobi::weather
