#include "shallow_water.hpp"

#include <algorithm>
#include <cmath>

#include "legendre.hpp"
#include "threads.hpp"

// One step:
//  1. For a few levels at a time: vorticity, geopotential and both winds (times cos latitude) to the grid.
//  2. There the products: winds times absolute vorticity, winds times geopotential, kinetic energy.
//  3. These back to spectral; divergence and curl of the product vectors by the recurrence of dP/dμ (no
//     derivative is ever taken on the grid), which gives the tendencies without the gravity waves' linear
//     terms.
//  4. Those linear terms as a mean of the step before and the step after, solved for each coefficient;
//     diffusion; filter.
//
// Fields of a transform's block of `levels` levels: vorticity, geopotential, U, V (to the grid); A = U η, B =
// V η, E, C = U Φ', D = V Φ' (back), each for its levels in order. A to D are divided by cos²(latitude).

namespace hakobi::weather {
namespace {

constexpr double radius = earth_radius;

struct Complex {
    double re = 0, im = 0;
};

/// Visits every coefficient with n ≤ last that this rank has: visit(m, n, index of the coefficient), those of
/// a wavenumber by one thread. A visit writes only what is that coefficient's.
template <class Visit>
void for_each_coefficient(const Layout& layout, int num_threads, int last, Visit visit) {
    in_parallel(num_threads, static_cast<std::int64_t>(layout.mine().size()), [&](std::int64_t i, int) {
        const int m = layout.mine()[static_cast<std::size_t>(i)];
        const std::int64_t first = layout.first_coefficient[static_cast<std::size_t>(i)];
        for (int n = m; n <= last; ++n) visit(m, n, first + n - m);
    });
}

/// A coefficient of field `field` in a block, or zero outside n = m … T + 1.
class Block {
  public:
    Block(std::span<const double> values, std::int64_t num_fields)
        : values_(values), num_fields_(num_fields) {}
    [[nodiscard]] Complex at(std::int64_t index, std::int64_t field) const {
        const double* pair = values_.data() + (index * num_fields_ + field) * 2;
        return {pair[0], pair[1]};
    }

  private:
    std::span<const double> values_;
    std::int64_t num_fields_;
};

}  // namespace

ShallowWater::ShallowWater(MPI_Comm comm, GaussianGrid grid, const ModelOptions& options)
    : comm_(comm),
      grid_(std::move(grid)),
      options_(options),
      layout_([&] {
          int size = 1, rank = 0;
          MPI_Comm_size(comm, &size);
          MPI_Comm_rank(comm, &rank);
          return make_layout(grid_, options.truncation, size, rank);
      }()),
      transform_(comm, grid_, layout_, options.num_threads) {
    const auto size = static_cast<std::size_t>(layout_.num_coefficients * options_.num_levels * 2);
    for (State* state : {&before_, &now_}) {
        for (Coefficients* all : {&state->vorticity, &state->divergence, &state->geopotential})
            all->assign(size, 0);
    }
    for (Coefficients* all : {&tendencies_.vorticity, &tendencies_.divergence, &tendencies_.geopotential})
        all->assign(size, 0);
    mean_.assign(static_cast<std::size_t>(options_.num_levels), 0);
}

void ShallowWater::winds(const State& state, int first, int last, std::int64_t num_fields, std::int64_t place,
                         std::span<double> block) const {
    const int levels = last - first, top = layout_.truncation;
    const Block vorticity(state.vorticity, options_.num_levels),
        divergence(state.divergence, options_.num_levels);
    for_each_coefficient(layout_, options_.num_threads, top + 1, [&](int m, int n, std::int64_t index) {
        const auto inverse = [](int degree) {
            return -radius * radius / (static_cast<double>(degree) * (degree + 1));
        };
        // U = (im χ - G(ψ)) / a, V = (im ψ + G(χ)) / a with ∇²ψ = vorticity, ∇²χ = divergence,
        // G(x)_n = -(n - 1) ε_n x_{n-1} + (n + 2) ε_{n+1} x_{n+1}.
        const double here = n >= 1 && n <= top ? m * inverse(n) / radius : 0;
        const double below = n - 1 >= std::max(m, 1) ? -(n - 1) * epsilon(n, m) * inverse(n - 1) / radius : 0;
        const double above = n + 1 <= top ? (n + 2) * epsilon(n + 1, m) * inverse(n + 1) / radius : 0;
        for (int k = 0; k < levels; ++k) {
            const int level = first + k;
            const auto combine = [&](const Block& turned, const Block& straight, double sign, Complex& sum) {
                if (here != 0) {
                    const Complex x = turned.at(index, level);
                    sum.re -= here * x.im;
                    sum.im += here * x.re;
                }
                if (below != 0) {
                    const Complex x = straight.at(index - 1, level);
                    sum.re += sign * below * x.re;
                    sum.im += sign * below * x.im;
                }
                if (above != 0) {
                    const Complex x = straight.at(index + 1, level);
                    sum.re += sign * above * x.re;
                    sum.im += sign * above * x.im;
                }
            };
            Complex u, v;
            combine(divergence, vorticity, -1, u);
            combine(vorticity, divergence, 1, v);
            double* to = block.data() + (index * num_fields + place + k) * 2;
            to[0] = u.re, to[1] = u.im;
            to += static_cast<std::int64_t>(levels) * 2;
            to[0] = v.re, to[1] = v.im;
        }
    });
}

void ShallowWater::products_on_grid(std::int64_t levels) {
    const std::int64_t points = layout_.num_points;
    const std::int64_t num_rows = layout_.band_end() - layout_.band_begin();
    in_parallel(options_.num_threads, num_rows, [&](std::int64_t local, int) {
        const std::int64_t row = layout_.band_begin() + local;
        const double mu = grid_.sin_latitude[static_cast<std::size_t>(row)], inverse = 1 / (1 - mu * mu);
        const double coriolis = 2 * earth_rotation * mu;
        const std::int64_t from = layout_.first_point[static_cast<std::size_t>(local)];
        const std::int64_t count = grid_.points[static_cast<std::size_t>(row)];
        for (std::int64_t k = 0; k < levels; ++k) {
            const double* in[4];
            double* out[5];
            for (std::int64_t q = 0; q < 4; ++q) in[q] = points_.data() + (q * levels + k) * points + from;
            for (std::int64_t q = 0; q < 5; ++q) out[q] = products_.data() + (q * levels + k) * points + from;
            for (std::int64_t i = 0; i < count; ++i) {
                const double eta = in[0][i] + coriolis, phi = in[1][i], u = in[2][i], v = in[3][i];
                out[0][i] = u * eta * inverse;
                out[1][i] = v * eta * inverse;
                out[2][i] = (u * u + v * v) * inverse / 2;
                out[3][i] = u * phi * inverse;
                out[4][i] = v * phi * inverse;
            }
        }
    });
}

void ShallowWater::tendencies_of(int first, int last) {
    const std::int64_t levels = last - first, all = options_.num_levels;
    const std::int64_t num_in = 4 * levels, num_out = 5 * levels;
    block_.assign(static_cast<std::size_t>(layout_.num_coefficients * num_out * 2), 0);
    points_.resize(static_cast<std::size_t>(layout_.num_points * num_in));
    products_.resize(static_cast<std::size_t>(layout_.num_points * num_out));
    for_each_coefficient(
        layout_, options_.num_threads, layout_.truncation, [&](int, int, std::int64_t index) {
            for (std::int64_t k = 0; k < levels; ++k) {
                const std::int64_t from = (index * all + first + k) * 2, to = (index * num_in + k) * 2;
                for (std::int64_t part = 0; part < 2; ++part) {
                    block_[static_cast<std::size_t>(to + part)] =
                        now_.vorticity[static_cast<std::size_t>(from + part)];
                    block_[static_cast<std::size_t>(to + levels * 2 + part)] =
                        now_.geopotential[static_cast<std::size_t>(from + part)];
                }
            }
        });
    winds(now_, first, last, num_in, 2 * levels, block_);
    transform_.to_grid(num_in, block_, points_);
    products_on_grid(levels);
    transform_.to_spectral(num_out, products_, block_);

    const Block products(block_, num_out);
    for_each_coefficient(
        layout_, options_.num_threads, layout_.truncation, [&](int m, int n, std::int64_t index) {
            // Divergence of (X, Y): (im X_n + n ε_{n+1} Y_{n+1} - (n + 1) ε_n Y_{n-1}) / a.
            const double here = m / radius, above = n * epsilon(n + 1, m) / radius;
            const double below = n > m ? (n + 1) * epsilon(n, m) / radius : 0;
            const double laplacian = static_cast<double>(n) * (n + 1) / (radius * radius);
            for (std::int64_t k = 0; k < levels; ++k) {
                const auto divergence = [&](std::int64_t x, double x_sign, std::int64_t y, double y_sign) {
                    const Complex a = products.at(index, x * levels + k),
                                  up = products.at(index + 1, y * levels + k);
                    const Complex down = below != 0 ? products.at(index - 1, y * levels + k) : Complex{};
                    return Complex{-x_sign * here * a.im + y_sign * (above * up.re - below * down.re),
                                   x_sign * here * a.re + y_sign * (above * up.im - below * down.im)};
                };
                const Complex vorticity = divergence(0, -1, 1, -1), curl = divergence(1, 1, 0, -1);
                const Complex flux = divergence(3, -1, 4, -1), energy = products.at(index, 2 * levels + k);
                const auto to = static_cast<std::size_t>((index * all + first + k) * 2);
                tendencies_.vorticity[to] = vorticity.re;
                tendencies_.vorticity[to + 1] = vorticity.im;
                tendencies_.divergence[to] = curl.re + laplacian * energy.re;
                tendencies_.divergence[to + 1] = curl.im + laplacian * energy.im;
                tendencies_.geopotential[to] = flux.re;
                tendencies_.geopotential[to + 1] = flux.im;
            }
        });
}

/// From before_ over interval_s to the next time level, which becomes now_; now_, filtered, becomes before_.
void ShallowWater::advance(double interval_s) {
    const std::int64_t all = options_.num_levels;
    const double top = static_cast<double>(options_.truncation) * (options_.truncation + 1);
    for_each_coefficient(
        layout_, options_.num_threads, layout_.truncation, [&](int, int n, std::int64_t index) {
            const double degree = static_cast<double>(n) * (n + 1), laplacian = degree / (radius * radius);
            const double damping =
                options_.damping_time_s > 0 ? std::pow(degree / top, 4) / options_.damping_time_s : 0;
            const double keep = 1 / (1 + interval_s * damping), half = interval_s / 2;
            for (std::int64_t i = index * all * 2; i < (index + 1) * all * 2; ++i) {
                const auto at = static_cast<std::size_t>(i);
                const double mean = mean_[static_cast<std::size_t>(i / 2 % all)];
                const double vorticity = before_.vorticity[at] + interval_s * tendencies_.vorticity[at];
                // δ+ - half L Φ+ = d, Φ+ + half mean δ+ = p
                const double d = before_.divergence[at] + interval_s * tendencies_.divergence[at] +
                                 half * laplacian * before_.geopotential[at];
                const double p = before_.geopotential[at] + interval_s * tendencies_.geopotential[at] -
                                 half * mean * before_.divergence[at];
                const double divergence = (d + half * laplacian * p) / (1 + half * half * laplacian * mean);
                const double geopotential = p - half * mean * divergence;
                const auto shift = [&](Coefficients& before, Coefficients& now, double next) {
                    next *= keep;
                    before[at] = is_first_step_
                                     ? now[at]
                                     : now[at] + options_.filter * (before[at] - 2 * now[at] + next);
                    now[at] = next;
                };
                shift(before_.vorticity, now_.vorticity, vorticity);
                shift(before_.divergence, now_.divergence, divergence);
                shift(before_.geopotential, now_.geopotential, geopotential);
            }
        });
}

void ShallowWater::step() {
    for (int first = 0; first < options_.num_levels; first += options_.levels_at_once) {
        tendencies_of(first, std::min(options_.num_levels, first + options_.levels_at_once));
    }
    if (is_first_step_) before_ = now_;
    advance(is_first_step_ ? options_.time_step_s : 2 * options_.time_step_s);
    is_first_step_ = false;
    time_s_ += options_.time_step_s;
}

void ShallowWater::start(const LevelFields& fields, double least_depth) {
    const std::int64_t points = layout_.num_points, all = options_.num_levels;
    time_s_ = 0;
    is_first_step_ = true;
    for (int first = 0; first < all; first += options_.levels_at_once) {
        const std::int64_t levels = std::min<std::int64_t>(all - first, options_.levels_at_once),
                           num = 3 * levels;
        std::vector<double> values(static_cast<std::size_t>(num * points));
        block_.resize(static_cast<std::size_t>(layout_.num_coefficients * num * 2));
        const auto level_of = [&](std::int64_t field) {
            return std::span(values).subspan(static_cast<std::size_t>(field * points),
                                             static_cast<std::size_t>(points));
        };
        for (std::int64_t k = 0; k < levels; ++k) {
            const std::span<double> u = level_of(k), v = level_of(levels + k);
            fields(static_cast<int>(first + k), u, v, level_of(2 * levels + k));
            for (std::int64_t row = layout_.band_begin(); row < layout_.band_end(); ++row) {
                // U / cos² and V / cos²
                const double mu = grid_.sin_latitude[static_cast<std::size_t>(row)],
                             scale = 1 / std::sqrt(1 - mu * mu);
                const std::int64_t from =
                    layout_.first_point[static_cast<std::size_t>(row - layout_.band_begin())];
                for (std::int64_t i = from; i < from + grid_.points[static_cast<std::size_t>(row)]; ++i) {
                    u[static_cast<std::size_t>(i)] *= scale;
                    v[static_cast<std::size_t>(i)] *= scale;
                }
            }
        }
        transform_.to_spectral(num, values, block_);
        const Block block(block_, num);
        for_each_coefficient(
            layout_, options_.num_threads, layout_.truncation, [&](int m, int n, std::int64_t index) {
                const double here = m / radius, above = n * epsilon(n + 1, m) / radius;
                const double below = n > m ? (n + 1) * epsilon(n, m) / radius : 0;
                for (std::int64_t k = 0; k < levels; ++k) {
                    const auto divergence = [&](std::int64_t x, std::int64_t y, double y_sign) {
                        const Complex a = block.at(index, x * levels + k),
                                      up = block.at(index + 1, y * levels + k);
                        const Complex down = below != 0 ? block.at(index - 1, y * levels + k) : Complex{};
                        return Complex{-here * a.im + y_sign * (above * up.re - below * down.re),
                                       here * a.re + y_sign * (above * up.im - below * down.im)};
                    };
                    const Complex div = divergence(0, 1, 1), curl = divergence(1, 0, -1);
                    const Complex phi = block.at(index, 2 * levels + k);
                    const auto to = static_cast<std::size_t>((index * all + first + k) * 2);
                    const bool is_mean = n == 0;
                    now_.divergence[to] = is_mean ? 0 : div.re,
                    now_.divergence[to + 1] = is_mean ? 0 : div.im;
                    now_.vorticity[to] = is_mean ? 0 : curl.re,
                    now_.vorticity[to + 1] = is_mean ? 0 : curl.im;
                    now_.geopotential[to] = is_mean ? 0 : phi.re,
                    now_.geopotential[to + 1] = is_mean ? 0 : phi.im;
                    if (is_mean) mean_[static_cast<std::size_t>(first + k)] = std::max(phi.re, least_depth);
                }
            });
    }
    // The mean is m = n = 0, which one rank has.
    MPI_Allreduce(MPI_IN_PLACE, mean_.data(), static_cast<int>(mean_.size()), MPI_DOUBLE, MPI_MAX, comm_);
    before_ = now_;
}

double ShallowWater::mass(int level) const {
    double mass = 0;
    if (!layout_.mine().empty() && layout_.mine()[0] == 0) {
        mass =
            mean_[static_cast<std::size_t>(level)] + now_.geopotential[static_cast<std::size_t>(level) * 2];
    }
    MPI_Allreduce(MPI_IN_PLACE, &mass, 1, MPI_DOUBLE, MPI_SUM, comm_);
    return mass;
}

double ShallowWater::largest_wind() {
    double most = 0;
    for (int first = 0; first < options_.num_levels; first += options_.levels_at_once) {
        const int last = std::min(options_.num_levels, first + options_.levels_at_once);
        const std::int64_t levels = last - first;
        block_.assign(static_cast<std::size_t>(layout_.num_coefficients * 2 * levels * 2), 0);
        points_.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, layout_.num_points) * 4 * levels));
        winds(now_, first, last, 2 * levels, 0, block_);
        transform_.to_grid(2 * levels, block_, points_);
        for (std::int64_t row = layout_.band_begin(); row < layout_.band_end(); ++row) {
            const double mu = grid_.sin_latitude[static_cast<std::size_t>(row)];
            const std::int64_t from =
                layout_.first_point[static_cast<std::size_t>(row - layout_.band_begin())];
            for (std::int64_t k = 0; k < levels; ++k) {
                for (std::int64_t i = from; i < from + grid_.points[static_cast<std::size_t>(row)]; ++i) {
                    const double u = points_[static_cast<std::size_t>(k * layout_.num_points + i)];
                    const double v = points_[static_cast<std::size_t>((levels + k) * layout_.num_points + i)];
                    const double wind = std::sqrt((u * u + v * v) / (1 - mu * mu));
                    most = wind > most || std::isnan(wind) ? wind : most;
                }
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, comm_);
    return most;
}

}  // namespace hakobi::weather
