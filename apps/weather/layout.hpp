#pragma once

#include <cstdint>
#include <vector>

#include "gaussian.hpp"

namespace hakobi::weather {

/// Divides grid points and coefficients among ranks. Grid points are split into bands of rows, from north to
/// south, with about as many points each; spectral coefficients by zonal wavenumber m, each with all its n =
/// m … T + 1 on one rank, so that every sum of a transform is made by one rank in one order: results do not
/// depend on the number of ranks. Pure.
struct Layout {
    int num_ranks = 1, rank = 0;
    int truncation = 0;                   ///< T
    std::vector<std::int64_t> first_row;  ///< of each rank's band, and the number of rows behind the last
    std::vector<std::vector<int>> wavenumbers;  ///< of each rank, ascending

    // This rank's part.
    std::vector<std::int64_t> first_coefficient;  ///< for each of its wavenumbers, where n = m lies
    std::int64_t num_coefficients = 0;            ///< one degree beyond T for each wavenumber included
    std::int64_t num_points = 0;
    std::vector<std::int64_t> first_point;  ///< of each row of its band, within the band

    [[nodiscard]] const std::vector<int>& mine() const { return wavenumbers[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::int64_t band_begin() const { return first_row[static_cast<std::size_t>(rank)]; }
    [[nodiscard]] std::int64_t band_end() const { return first_row[static_cast<std::size_t>(rank) + 1]; }
};

/// Ranks beyond the number of rows or of wavenumbers get none.
Layout make_layout(const GaussianGrid& grid, int truncation, int num_ranks, int rank);

/// The highest wavenumber that a row of so many points carries, at most `truncation`.
int highest_wavenumber(std::int64_t points, int truncation);

}  // namespace hakobi::weather
