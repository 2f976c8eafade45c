#include "gaussian.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace hakobi::weather {

std::int64_t GaussianGrid::num_points() const {
    return std::accumulate(points.begin(), points.end(), std::int64_t{0});
}

GaussianGrid gaussian_grid(std::vector<std::int64_t> points) {
    GaussianGrid grid{.points = std::move(points)};
    const auto rows = static_cast<std::size_t>(grid.points.size());
    grid.sin_latitude.resize(rows);
    grid.weight.resize(rows);
    const auto degree = static_cast<double>(rows);
    for (std::size_t j = 0; j < rows / 2; ++j) {
        // Newton's method on the Legendre polynomial of as many degrees as rows, from Tricomi's estimate of
        // its root.
        double root = std::cos(std::numbers::pi * (static_cast<double>(j) + 0.75) / (degree + 0.5)),
               slope = 1;
        for (int i = 0; i < 100; ++i) {
            double before = 1, now = root;
            for (std::size_t n = 2; n <= rows; ++n) {
                const auto k = static_cast<double>(n);
                const double next = ((2 * k - 1) * root * now - (k - 1) * before) / k;
                before = now;
                now = next;
            }
            slope = degree * (before - root * now) / (1 - root * root);
            const double change = now / slope;
            root -= change;
            if (std::abs(change) < 1e-16) break;
        }
        grid.sin_latitude[j] = root;
        grid.sin_latitude[rows - 1 - j] = -root;
        grid.weight[j] = grid.weight[rows - 1 - j] = 2 / ((1 - root * root) * slope * slope);
    }
    return grid;
}

std::vector<std::int64_t> octahedral_rows(int num_rows_to_equator) {
    std::vector<std::int64_t> points;
    for (int j = 0; j < num_rows_to_equator; ++j) points.push_back(20 + 4 * j);
    std::vector<std::int64_t> south(points.rbegin(), points.rend());
    points.insert(points.end(), south.begin(), south.end());
    return points;
}

}  // namespace hakobi::weather
