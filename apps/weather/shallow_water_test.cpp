// Ranks 1 to 4: transforms are exact where they should be, and the model does what Williamson et al. (1992)
// ask of one.

#include "shallow_water.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>

#include "threads.hpp"

namespace hakobi::weather {
namespace {

constexpr double pi = std::numbers::pi;

GaussianGrid grid_for(int truncation, bool is_reduced = false) {
    const int north = (3 * truncation + 1) / 4 + 1;
    if (is_reduced) return gaussian_grid(octahedral_rows(north));
    return gaussian_grid(std::vector<std::int64_t>(static_cast<std::size_t>(2 * north), 4 * north));
}

/// Calls with row's latitude, longitude and the point's place in the band.
template <class Visit>
void for_each_point(const ShallowWater& model, Visit visit) {
    const Layout& layout = model.layout();
    for (std::int64_t row = layout.band_begin(); row < layout.band_end(); ++row) {
        const double latitude = std::asin(model.coriolis_sine(row));
        const std::int64_t points = model.grid().points[static_cast<std::size_t>(row)];
        for (std::int64_t i = 0; i < points; ++i) {
            visit(latitude, 2 * pi * static_cast<double>(i) / static_cast<double>(points),
                  static_cast<std::size_t>(
                      layout.first_point[static_cast<std::size_t>(row - layout.band_begin())] + i));
        }
    }
}

double global_max(double value) {
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return value;
}

/// Coefficients that depend on (m, n) alone, the same on any number of ranks; n = T + 1 is none.
std::vector<double> some_coefficients(const Layout& layout, std::int64_t num_fields) {
    std::vector<double> all(static_cast<std::size_t>(layout.num_coefficients * num_fields * 2), 0);
    for (std::size_t i = 0; i < layout.mine().size(); ++i) {
        const int m = layout.mine()[i];
        for (int n = m; n <= layout.truncation; ++n) {
            std::mt19937 random(static_cast<unsigned>(m * 1000 + n));
            std::uniform_real_distribution<double> value(-1, 1);
            for (std::int64_t f = 0; f < num_fields * 2; ++f) {
                const double x = value(random);
                all[static_cast<std::size_t>((layout.first_coefficient[i] + n - m) * num_fields * 2 + f)] =
                    m == 0 && f % 2 == 1 ? 0 : x;
            }
        }
    }
    return all;
}

TEST(Transform, ToTheGridAndBackChangesNothing) {
    ShallowWater model(MPI_COMM_WORLD, grid_for(42), {.truncation = 42});
    constexpr std::int64_t num_fields = 3;
    const std::vector<double> before = some_coefficients(model.layout(), num_fields);
    std::vector<double> after(before.size()),
        points(static_cast<std::size_t>(model.layout().num_points * num_fields));
    model.transform().to_grid(num_fields, before, points);
    model.transform().to_spectral(num_fields, points, after);
    double error = 0;
    for (std::size_t i = 0; i < model.layout().mine().size(); ++i) {
        const int m = model.layout().mine()[i];
        const auto begin = static_cast<std::size_t>(model.layout().first_coefficient[i] * num_fields * 2);
        for (std::size_t at = begin; at < begin + static_cast<std::size_t>((43 - m) * num_fields * 2); ++at)
            error = std::max(error, std::abs(after[at] - before[at]));
    }
    EXPECT_LT(global_max(error), 1e-12);
}

TEST(Transform, FindsTheSphericalHarmonicsOfAKnownFunction) {
    // sin(latitude) = P_1^0 / √3, cos(latitude) cos(longitude) = 2 Re(P_1^1 e^{iλ}) / (2 √(3/2)).
    ShallowWater model(MPI_COMM_WORLD, grid_for(21, true), {.truncation = 21});
    const Layout& layout = model.layout();
    std::vector<double> points(static_cast<std::size_t>(layout.num_points));
    for_each_point(model, [&](double latitude, double longitude, std::size_t i) {
        points[i] = 5 + std::sin(latitude) + std::cos(latitude) * std::cos(longitude);
    });
    std::vector<double> found(static_cast<std::size_t>(layout.num_coefficients * 2));
    model.transform().to_spectral(1, points, found);
    for (std::size_t i = 0; i < layout.mine().size(); ++i) {
        const int m = layout.mine()[i];
        const auto at = static_cast<std::size_t>(layout.first_coefficient[i] * 2);
        if (m == 0) {
            EXPECT_NEAR(found[at], 5, 1e-13);
            EXPECT_NEAR(found[at + 2], 1 / std::sqrt(3), 1e-13);
        }
        if (m == 1) {
            EXPECT_NEAR(found[at], 0.5 / std::sqrt(1.5), 1e-13);
        }
    }
}

/// Williamson's case 2: solid rotation, once in twelve days, in balance with its height.
ShallowWater::LevelFields steady_zonal_flow(const ShallowWater& model) {
    return [&model](int, std::span<double> u, std::span<double> v, std::span<double> geopotential) {
        const double u0 = 2 * pi * earth_radius / (12 * 86400.0), high = 2.94e4;
        for_each_point(model, [&](double latitude, double, std::size_t i) {
            u[i] = u0 * std::cos(latitude);
            v[i] = 0;
            geopotential[i] =
                high - (earth_radius * earth_rotation * u0 + u0 * u0 / 2) * std::pow(std::sin(latitude), 2);
        });
    };
}

/// Williamson's case 6, a Rossby-Haurwitz wave of wavenumber 4.
ShallowWater::LevelFields rossby_haurwitz_wave(const ShallowWater& model) {
    return [&model](int, std::span<double> u, std::span<double> v, std::span<double> geopotential) {
        constexpr double w = 7.848e-6, k = 7.848e-6, r = 4, a = earth_radius;
        for_each_point(model, [&](double latitude, double longitude, std::size_t i) {
            const double c = std::cos(latitude), s = std::sin(latitude), wave = std::cos(r * longitude);
            u[i] = a * w * c + a * k * std::pow(c, r - 1) * (r * s * s - c * c) * wave;
            v[i] = -a * k * r * std::pow(c, r - 1) * s * std::sin(r * longitude);
            const double first = w / 2 * (2 * earth_rotation + w) * c * c +
                                 k * k / 4 * std::pow(c, 2 * r) *
                                     ((r + 1) * c * c + (2 * r * r - r - 2) - 2 * r * r / (c * c));
            const double second = 2 * (earth_rotation + w) * k / ((r + 1) * (r + 2)) * std::pow(c, r) *
                                  ((r * r + 2 * r + 2) - (r + 1) * (r + 1) * c * c);
            const double third = k * k / 4 * std::pow(c, 2 * r) * ((r + 1) * c * c - (r + 2));
            geopotential[i] =
                gravity * 8000 + a * a * (first + second * wave + third * std::cos(2 * r * longitude));
        });
    };
}

TEST(ShallowWater, KeepsSteadyZonalFlowSteady) {
    for (const bool is_reduced : {false, true}) {
        ShallowWater model(MPI_COMM_WORLD, grid_for(42, is_reduced),
                           {.truncation = 42, .num_levels = 2, .damping_time_s = 0});
        model.start(steady_zonal_flow(model), 0);
        const State before = model.state();
        const double wind = model.largest_wind(), mass = model.mass(1);
        EXPECT_NEAR(wind, 2 * pi * earth_radius / (12 * 86400.0), 0.05);
        for (int i = 0; i < 5 * 72; ++i) model.step();  // five days
        double error = 0;
        for (std::size_t i = 0; i < before.geopotential.size(); ++i)
            error = std::max(error, std::abs(model.state().geopotential[i] - before.geopotential[i]));
        EXPECT_LT(global_max(error) / mass, 1e-9) << "reduced: " << is_reduced;
        EXPECT_NEAR(model.largest_wind() / wind, 1, 1e-8);
        EXPECT_NEAR(model.mass(1) / mass, 1, 1e-13);
    }
}

TEST(ShallowWater, MovesARossbyHaurwitzWaveEastwardsAndKeepsItsMass) {
    // Hoskins (1973): the pattern moves with (R (3 + R) w - 2 Ω) / ((1 + R) (2 + R)) = 12.2 degrees a day
    // (non-divergent).
    ShallowWater model(MPI_COMM_WORLD, grid_for(42),
                       {.truncation = 42, .time_step_s = 600, .damping_time_s = 7200});
    model.start(rossby_haurwitz_wave(model), 0);
    const double mass = model.mass(0);
    const auto phase = [&] {  // of the coefficient m = 4, n = 5 of vorticity, which has the wave
        double parts[2] = {0, 0};
        for (std::size_t i = 0; i < model.layout().mine().size(); ++i) {
            if (model.layout().mine()[i] != 4) continue;
            const auto at = static_cast<std::size_t>((model.layout().first_coefficient[i] + 1) * 2);
            parts[0] = model.state().vorticity[at], parts[1] = model.state().vorticity[at + 1];
        }
        MPI_Allreduce(MPI_IN_PLACE, parts, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        return std::atan2(parts[1], parts[0]);
    };
    const double start = phase();
    for (int i = 0; i < 144; ++i) model.step();  // a day
    const double degrees = std::remainder(start - phase(), 2 * pi) / 4 * 180 / pi;
    EXPECT_NEAR(degrees, 12.2, 1.5);
    EXPECT_NEAR(model.mass(0) / mass, 1, 1e-13);
    EXPECT_LT(model.largest_wind(), 110);
}

/// A number made of the bits of every coefficient by its (m, n), the same on any number of ranks.
std::uint64_t fingerprint(const ShallowWater& model) {
    std::uint64_t sum = 0;
    const Layout& layout = model.layout();
    const auto width = static_cast<std::size_t>(model.options().num_levels * 2);
    for (std::size_t i = 0; i < layout.mine().size(); ++i) {
        for (int n = layout.mine()[i]; n <= layout.truncation; ++n) {
            const auto at =
                static_cast<std::size_t>(layout.first_coefficient[i] + n - layout.mine()[i]) * width;
            for (std::size_t f = 0; f < width; ++f) {
                for (const Coefficients* all :
                     {&model.state().vorticity, &model.state().divergence, &model.state().geopotential}) {
                    std::uint64_t bits = 0;
                    std::memcpy(&bits, &(*all)[at + f], sizeof bits);
                    const auto place = static_cast<std::uint64_t>(layout.mine()[i] * 4096 + n) * 64 + f;
                    sum += (bits ^ place) * 0x9e3779b97f4a7c15ULL;
                }
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

TEST(ShallowWater, HasTheSameBitsOnAnyNumberOfRanks) {
    const auto run = [](MPI_Comm comm) {
        ShallowWater model(comm, grid_for(21, true),
                           {.truncation = 21, .num_levels = 3, .levels_at_once = 2});
        model.start(rossby_haurwitz_wave(model), 0);
        for (int i = 0; i < 6; ++i) model.step();
        return fingerprint(model);
    };
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm alone = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, rank, 0, &alone);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const std::uint64_t together = run(MPI_COMM_WORLD), each = run(alone);
    MPI_Comm_free(&alone);
    // A run alone adds its own bits once, over the world `size` times.
    EXPECT_EQ(together * static_cast<std::uint64_t>(size), each);
}

TEST(ShallowWater, HasTheSameBitsOnAnyNumberOfThreads) {
    const auto run = [](int num_threads) {
        ShallowWater model(
            MPI_COMM_WORLD, grid_for(21, true),
            {.truncation = 21, .num_levels = 3, .levels_at_once = 2, .num_threads = num_threads});
        model.start(rossby_haurwitz_wave(model), 0);
        for (int i = 0; i < 6; ++i) model.step();
        return std::pair(fingerprint(model), model.largest_wind());
    };
    const auto one = run(1);
    for (const int num_threads : {2, 3, 7}) EXPECT_EQ(run(std::min(num_threads, most_threads())), one);
}

TEST(Threads, VisitEachOnceByThreadsOfTheirNumbers) {
    const int num_threads = std::min(3, most_threads());
    std::vector<int> visits(100, 0), threads(100, -1);
    in_parallel(num_threads, 100, [&](std::int64_t i, int thread) {
        ++visits[static_cast<std::size_t>(i)];
        threads[static_cast<std::size_t>(i)] = thread;
    });
    EXPECT_EQ(visits, std::vector<int>(100, 1));
    EXPECT_GE(*std::min_element(threads.begin(), threads.end()), 0);
    EXPECT_LT(*std::max_element(threads.begin(), threads.end()), num_threads);
}

}  // namespace
}  // namespace hakobi::weather
