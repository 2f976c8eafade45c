#include "solver.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "basin_test.hpp"
#include "exact_sum.hpp"

namespace hakobi::tsunami {
namespace {

constexpr double g = gravity_m_s2;
const SolverOptions frictionless{.dry_depth_m = 1e-6, .manning_s_m13 = 0};

// Mean of |value - exact| over a basin's middle row.
double mean_error(const std::vector<double>& values, std::int64_t num_rows, std::int64_t num_columns,
                  double cell_m, const std::function<double(double)>& exact) {
    double sum = 0;
    for (std::int64_t c = 0; c < num_columns; ++c) {
        const double x_m = (static_cast<double>(c) + 0.5) * cell_m;
        sum += std::abs(values[static_cast<std::size_t>(num_rows / 2 * num_columns + c)] - exact(x_m));
    }
    return sum / static_cast<double>(num_columns);
}

// Depth after a dam at x = 0 between depths `left` > `right` > 0 broke: J. J. Stoker, Water Waves (1957),
// section 10.8.
double stoker_depth(double x_m, double time_s, double left, double right) {
    const double cl = std::sqrt(g * left);
    // Depth behind the bore: the rarefaction's and the bore's velocity agree there. Bisection.
    double low = right, high = left;
    for (int i = 0; i < 200; ++i) {
        const double h = 0.5 * (low + high);
        const double from_rarefaction = 2 * (cl - std::sqrt(g * h));
        const double from_bore = (h - right) * std::sqrt(0.5 * g * (h + right) / (h * right));
        (from_rarefaction > from_bore ? low : high) = h;
    }
    const double h = 0.5 * (low + high);
    const double u = 2 * (cl - std::sqrt(g * h));
    const double bore_speed = h * u / (h - right);
    const double speed = x_m / time_s;
    if (speed < -cl) return left;
    if (speed < u - std::sqrt(g * h)) return std::pow(2 * cl - speed, 2) / (9 * g);
    return speed < bore_speed ? h : right;
}

// The same over a dry bed: A. Ritter (1892).
double ritter_depth(double x_m, double time_s, double left) {
    const double cl = std::sqrt(g * left);
    const double speed = x_m / time_s;
    if (speed < -cl) return left;
    return speed < 2 * cl ? std::pow(2 * cl - speed, 2) / (9 * g) : 0;
}

double dam_break_error(std::int64_t num_columns, double right, bool along_y) {
    constexpr double length_m = 2000, left = 10, time_s = 40;
    const double cell_m = length_m / static_cast<double>(num_columns);
    const std::int64_t across = 12;
    Basin basin(along_y ? num_columns : across, along_y ? across : num_columns, cell_m, Boundary::wall,
                frictionless);
    basin.fill([](double, double) { return 0.0; },
               [&](double x, double y) { return (along_y ? y : x) < length_m / 2 ? left : right; });
    double lowest = 0;
    basin.advance(time_s, 0.45, [&] {
        for (std::int64_t r = 0; r < basin.solver().num_rows(); ++r) {
            for (std::int64_t c = 0; c < basin.solver().num_columns(); ++c) {
                lowest = std::min(lowest, basin.solver().eta.row(r)[c]);
            }
        }
    });
    EXPECT_GE(lowest, -1e-14);
    auto depths = basin.whole(basin.solver().eta);
    if (along_y) {
        std::vector<double> turned(depths.size());
        for (std::int64_t r = 0; r < num_columns; ++r) {
            for (std::int64_t c = 0; c < across; ++c) {
                turned[static_cast<std::size_t>(c * num_columns + r)] =
                    depths[static_cast<std::size_t>(r * across + c)];
            }
        }
        depths = turned;
    }
    return mean_error(depths, across, num_columns, cell_m, [&](double x_m) {
        const double from_dam_m = x_m - length_m / 2;
        return right > 0 ? stoker_depth(from_dam_m, time_s, left, right)
                         : ritter_depth(from_dam_m, time_s, left);
    });
}

TEST(Solver, ADamBreakOverWaterConvergesToStokersSolution) {
    for (const bool along_y : {false, true}) {
        const double coarse = dam_break_error(100, 2, along_y);
        const double fine = dam_break_error(400, 2, along_y);
        EXPECT_LT(coarse, 0.15);
        EXPECT_LT(fine, coarse / 2.8) << "the bore makes it first order: a quarter, less a little";
    }
}

TEST(Solver, ADamBreakOverDryGroundConvergesToRittersSolutionWithoutNegativeDepths) {
    for (const bool along_y : {false, true}) {
        const double coarse = dam_break_error(100, 0, along_y);
        const double fine = dam_break_error(400, 0, along_y);
        EXPECT_LT(coarse, 0.15);
        EXPECT_LT(fine, coarse / 2.2);
    }
}

TEST(Solver, AGentleWaveTravelsAtTheRootOfGTimesDepthToSecondOrder) {
    constexpr double depth_m = 4000, length_m = 2e6, height_m = 1e-3, width_m = 1e5, time_s = 3000;
    const auto error = [&](std::int64_t num_columns) {
        const double cell_m = length_m / static_cast<double>(num_columns);
        Basin basin(10, num_columns, cell_m, Boundary::open, frictionless);
        const auto hump = [&](double x) {
            return height_m * std::exp(-std::pow((x - length_m / 2) / width_m, 2));
        };
        basin.fill([](double, double) { return -depth_m; }, [&](double x, double) { return hump(x); });
        basin.advance(time_s, 0.8);
        const double way_m = std::sqrt(g * depth_m) * time_s;
        return mean_error(basin.whole(basin.solver().eta), 10, num_columns, cell_m,
                          [&](double x) { return 0.5 * (hump(x - way_m) + hump(x + way_m)); }) /
               height_m;
    };
    const double coarse = error(100);
    const double fine = error(400);
    EXPECT_LT(coarse, 0.02);
    EXPECT_LT(fine, coarse / 8) << "second order, but for the crests that the limiter flattens";
}

// W. C. Thacker, Some exact solutions to the nonlinear shallow-water wave equations, Journal of Fluid
// Mechanics 107 (1981), 499-508: a planar surface that turns in a paraboloid; the shore line runs over dry
// ground all the time.
TEST(Solver, APlaneSurfaceTurnsInABowlAndComesBack) {
    constexpr double radius_m = 1000, depth_m = 10, offset_m = 200;
    const double omega = std::sqrt(2 * g * depth_m) / radius_m;
    constexpr std::int64_t n = 96;
    constexpr double cell_m = 3000.0 / n;
    const auto bowl = [&](double x, double y) {
        const double r2 = std::pow(x - 1500, 2) + std::pow(y - 1500, 2);
        return -depth_m * (1 - r2 / (radius_m * radius_m));
    };
    const auto surface = [&](double x, double y, double t) {
        return offset_m * depth_m / (radius_m * radius_m) *
               (2 * (x - 1500) * std::cos(omega * t) + 2 * (y - 1500) * std::sin(omega * t) - offset_m);
    };
    Basin basin(n, n, cell_m, Boundary::wall, {.dry_depth_m = 1e-3, .manning_s_m13 = 0});
    basin.fill(bowl, [&](double x, double y) { return surface(x, y, 0); });
    for (std::int64_t r = 0; r < basin.solver().num_rows(); ++r) {  // at t = 0 it moves to the north
        for (std::int64_t c = 0; c < basin.solver().num_columns(); ++c) {
            const double h = basin.solver().eta.row(r)[c] - basin.solver().bed.row(r)[c];
            if (h > 1e-3) basin.solver().momentum_y.row(r)[c] = h * offset_m * omega;
        }
    }
    ExactSum before;
    for (const double depth : basin.whole(basin.solver().eta)) before.add(depth);
    basin.advance(2 * std::numbers::pi / omega, 0.45);
    const auto eta = basin.whole(basin.solver().eta);
    ExactSum after;
    for (const double depth : eta) after.add(depth);
    EXPECT_NEAR(after.minus(before), 0, 1e-2 /* of 9216 heights, each rounded to a millionth */);
    double sum = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < n; ++c) {
            const double x = (static_cast<double>(c) + 0.5) * cell_m;
            const double y = (static_cast<double>(r) + 0.5) * cell_m;
            const double exact = std::max(bowl(x, y), surface(x, y, 0));
            const double value = eta[static_cast<std::size_t>(r * n + c)];
            EXPECT_GE(value, bowl(x, y) - 1e-12);
            sum += std::abs(value - exact);
        }
    }
    EXPECT_LT(sum / (n * n), 0.15) << "of a surface that swings by 4 m at the shore";
}

TEST(Solver, ASymmetricProblemStaysSymmetricToTheBit) {
    constexpr std::int64_t n = 40;
    constexpr double cell_m = 100, middle_m = n * cell_m / 2;
    Basin basin(n, n, cell_m, Boundary::wall, {});
    const auto r2 = [](double x, double y) { return std::pow(x - middle_m, 2) + std::pow(y - middle_m, 2); };
    basin.fill([&](double x, double y) { return -20 + 25 * r2(x, y) / std::pow(middle_m, 2); },
               [&](double x, double y) { return 3 * std::exp(-r2(x, y) / 5e5); });
    basin.advance(200, 0.45);
    const auto eta = basin.whole(basin.solver().eta);
    const auto qx = basin.whole(basin.solver().momentum_x);
    const auto qy = basin.whole(basin.solver().momentum_y);
    double moved = 0;
    for (std::int64_t r = 0; r < n; ++r) {
        for (std::int64_t c = 0; c < n; ++c) {
            const auto at = static_cast<std::size_t>(r * n + c);
            const auto in_x = static_cast<std::size_t>(r * n + n - 1 - c);
            const auto in_y = static_cast<std::size_t>((n - 1 - r) * n + c);
            ASSERT_EQ(eta[at], eta[in_x]);
            ASSERT_EQ(eta[at], eta[in_y]);
            ASSERT_EQ(qx[at], -qx[in_x]);
            ASSERT_EQ(qy[at], -qy[in_y]);
            moved = std::max(moved, std::abs(qx[at]));
        }
    }
    EXPECT_GT(moved, 0.1);
}

TEST(Solver, ALakeAtRestStaysExactlyAtRestOverAnyBedAndLevel) {
    for (const double level : {0.0, 0.37, 1234.5}) {
        Basin basin(30, 50, 1000, Boundary::open, {});
        basin.fill(
            [&](double x, double y) {
                return level - 3000 * std::sin(x * 1e-4) * std::cos(y * 2.3e-4) - 800 +
                       0.13 * std::fmod(x, 7000.0);
            },
            [&](double, double) { return level; });
        const auto before = basin.whole(basin.solver().eta);
        for (int i = 0; i < 10; ++i) basin.solver().step(2);
        EXPECT_EQ(basin.whole(basin.solver().eta), before);
        for (const double q : basin.whole(basin.solver().momentum_x)) ASSERT_EQ(q, 0.0);
        for (const double q : basin.whole(basin.solver().momentum_y)) ASSERT_EQ(q, 0.0);
    }
}

TEST(Solver, FrictionSlowsAShallowFlowAndNeverTurnsIt) {
    const auto speed = [](double manning) {
        Basin basin(10, 60, 100, Boundary::wall, {.manning_s_m13 = manning});
        basin.fill([](double, double) { return 0.0; }, [](double x, double) { return x < 3000 ? 1.0 : 0.2; });
        basin.advance(300, 0.45);
        double highest = 0;
        for (const double q : basin.whole(basin.solver().momentum_x)) highest = std::max(highest, q);
        return highest;
    };
    const double free = speed(0);
    const double slowed = speed(0.05);
    EXPECT_LT(slowed, 0.95 * free);
    EXPECT_GT(slowed, 0);
}

}  // namespace
}  // namespace hakobi::tsunami
