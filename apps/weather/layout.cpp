#include "layout.hpp"

#include <algorithm>

namespace hakobi::weather {

int highest_wavenumber(std::int64_t points, int truncation) {
    return static_cast<int>(std::min<std::int64_t>(truncation, (points - 1) / 2));
}

Layout make_layout(const GaussianGrid& grid, int truncation, int num_ranks, int rank) {
    Layout layout{.num_ranks = num_ranks, .rank = rank, .truncation = truncation};
    const std::int64_t total = grid.num_points();
    layout.first_row.assign(static_cast<std::size_t>(num_ranks) + 1, grid.num_rows());
    layout.first_row[0] = 0;
    std::int64_t points = 0;
    int next = 1;
    for (std::int64_t row = 0; row < grid.num_rows(); ++row) {
        points += grid.points[static_cast<std::size_t>(row)];
        while (next < num_ranks && points * num_ranks >= total * next) {
            layout.first_row[static_cast<std::size_t>(next++)] = row + 1;
        }
    }
    // Long wavenumbers (small m) have most coefficients: dealt out there and back again.
    layout.wavenumbers.resize(static_cast<std::size_t>(num_ranks));
    for (int m = 0; m <= truncation; ++m) {
        const int place = m % (2 * num_ranks);
        const int owner = place < num_ranks ? place : 2 * num_ranks - 1 - place;
        layout.wavenumbers[static_cast<std::size_t>(owner)].push_back(m);
    }
    for (const int m : layout.mine()) {
        layout.first_coefficient.push_back(layout.num_coefficients);
        layout.num_coefficients += truncation + 2 - m;
    }
    for (std::int64_t row = layout.band_begin(); row < layout.band_end(); ++row) {
        layout.first_point.push_back(layout.num_points);
        layout.num_points += grid.points[static_cast<std::size_t>(row)];
    }
    return layout;
}

}  // namespace hakobi::weather
