#include "transform.hpp"

#include <fftw3.h>

#include <algorithm>
#include <complex>
#include <cstring>
#include <map>
#include <vector>

#include "legendre.hpp"
#include "threads.hpp"

namespace hakobi::weather {
namespace {

/// Plans for rows of one length. Estimated, not timed: the same arithmetic in every run and on every rank.
struct RowPlans {
    fftw_plan to_points = nullptr, to_waves = nullptr;
};

/// out[0 … width) += factor * in[0 … width)
inline void add_scaled(double* __restrict out, const double* __restrict in, double factor,
                       std::int64_t width) {
    for (std::int64_t i = 0; i < width; ++i) out[i] += factor * in[i];
}

}  // namespace

struct Transform::Impl {
    MPI_Comm comm;
    const GaussianGrid& grid;
    const Layout& layout;
    int num_threads;
    std::int64_t num_rows, num_north;
    std::vector<std::vector<double>> polynomials;  ///< of each wavenumber here: n slowest, northern rows
    std::map<std::int64_t, RowPlans> plans;        ///< by points on a row
    std::vector<int> counts_by_waves, counts_by_rows, starts_by_waves, starts_by_rows;
    std::vector<double> by_waves,
        by_rows;  ///< exchanged: as the wavenumbers' rank and as the rows' rank has them
    Scratch<double> points, sums;
    Scratch<std::complex<double>> waves;

    Impl(MPI_Comm on, const GaussianGrid& rows, const Layout& split, int threads)
        : comm(on),
          grid(rows),
          layout(split),
          num_threads(threads),
          num_rows(rows.num_rows()),
          num_north(rows.num_rows() / 2) {
        std::vector<double> north(grid.sin_latitude.begin(), grid.sin_latitude.begin() + num_north);
        for (const int m : layout.mine()) polynomials.push_back(legendre(m, layout.truncation + 1, north));
        for (std::int64_t row = layout.band_begin(); row < layout.band_end(); ++row) plan(points_on(row));
    }
    ~Impl() {
        for (auto& [length, both] : plans) {
            fftw_destroy_plan(both.to_points);
            fftw_destroy_plan(both.to_waves);
        }
    }
    Impl(const Impl&) = delete;
    Impl& operator=(const Impl&) = delete;

    [[nodiscard]] std::int64_t points_on(std::int64_t row) const {
        return grid.points[static_cast<std::size_t>(row)];
    }
    [[nodiscard]] std::int64_t rows_of(int rank) const {
        return layout.first_row[static_cast<std::size_t>(rank) + 1] -
               layout.first_row[static_cast<std::size_t>(rank)];
    }
    [[nodiscard]] const std::vector<int>& waves_of(int rank) const {
        return layout.wavenumbers[static_cast<std::size_t>(rank)];
    }
    void plan(std::int64_t length);
    void size_exchange(std::int64_t num_fields);
    void exchange(bool to_rows);
    void sum_over_degrees(std::int64_t num_fields, std::span<const double> spectral);
    void sum_over_rows(std::int64_t num_fields, std::span<double> spectral);
    void waves_to_points(std::int64_t num_fields, std::span<double> values);
    void points_to_waves(std::int64_t num_fields, std::span<const double> values);
    /// One wavenumber of this rank, or one row of its band, by one thread.
    void sum_over_degrees_of(std::size_t i, std::int64_t width, const double* spectral, double* even);
    void sum_over_rows_of(std::size_t i, std::int64_t width, double* spectral, double* even);
    void waves_to_points_of(std::int64_t row, std::int64_t num_fields, double* values,
                            std::complex<double>* wave);
    void points_to_waves_of(std::int64_t row, std::int64_t num_fields, const double* values, double* line,
                            std::complex<double>* wave);
    [[nodiscard]] std::int64_t longest_row() const {
        return *std::max_element(grid.points.begin(), grid.points.end());
    }

    /// Where in by_waves the values of a row begin for the i-th wavenumber of this rank.
    [[nodiscard]] std::vector<std::int64_t> row_places(std::int64_t num_fields, std::size_t i) const {
        std::vector<std::int64_t> places(static_cast<std::size_t>(num_rows));
        for (int rank = 0; rank < layout.num_ranks; ++rank) {
            const std::int64_t first = layout.first_row[static_cast<std::size_t>(rank)], rows = rows_of(rank);
            for (std::int64_t row = 0; row < rows; ++row) {
                places[static_cast<std::size_t>(first + row)] =
                    starts_by_waves[static_cast<std::size_t>(rank)] +
                    (static_cast<std::int64_t>(i) * rows + row) * num_fields * 2;
            }
        }
        return places;
    }
};

void Transform::Impl::plan(std::int64_t length) {
    RowPlans& both = plans[length];
    if (both.to_points != nullptr) return;
    std::vector<double> line(static_cast<std::size_t>(length));
    std::vector<std::complex<double>> wave(static_cast<std::size_t>(length / 2 + 1));
    auto* complex = reinterpret_cast<fftw_complex*>(wave.data());
    const unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED;
    both.to_points = fftw_plan_dft_c2r_1d(static_cast<int>(length), complex, line.data(), flags);
    both.to_waves = fftw_plan_dft_r2c_1d(static_cast<int>(length), line.data(), complex, flags);
}

/// The block from wavenumbers' rank a to rows' rank b: each wavenumber of a, each row of b, each field, real,
/// imaginary.
void Transform::Impl::size_exchange(std::int64_t num_fields) {
    const auto ranks = static_cast<std::size_t>(layout.num_ranks);
    for (auto* all : {&counts_by_waves, &counts_by_rows, &starts_by_waves, &starts_by_rows})
        all->assign(ranks, 0);
    std::int64_t total_waves = 0, total_rows = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        const auto other = static_cast<int>(rank);
        const std::int64_t here =
            static_cast<std::int64_t>(layout.mine().size()) * rows_of(other) * num_fields * 2;
        const std::int64_t there =
            static_cast<std::int64_t>(waves_of(other).size()) * rows_of(layout.rank) * num_fields * 2;
        counts_by_waves[rank] = static_cast<int>(here);
        counts_by_rows[rank] = static_cast<int>(there);
        starts_by_waves[rank] = static_cast<int>(total_waves);
        starts_by_rows[rank] = static_cast<int>(total_rows);
        total_waves += here;
        total_rows += there;
    }
    by_waves.resize(static_cast<std::size_t>(total_waves));
    by_rows.resize(static_cast<std::size_t>(total_rows));
}

void Transform::Impl::exchange(bool to_rows) {
    if (to_rows) {
        MPI_Alltoallv(by_waves.data(), counts_by_waves.data(), starts_by_waves.data(), MPI_DOUBLE,
                      by_rows.data(), counts_by_rows.data(), starts_by_rows.data(), MPI_DOUBLE, comm);
    } else {
        MPI_Alltoallv(by_rows.data(), counts_by_rows.data(), starts_by_rows.data(), MPI_DOUBLE,
                      by_waves.data(), counts_by_waves.data(), starts_by_waves.data(), MPI_DOUBLE, comm);
    }
}

void Transform::Impl::sum_over_degrees(std::int64_t num_fields, std::span<const double> spectral) {
    const std::int64_t width = num_fields * 2;
    sums.resize(num_threads, static_cast<std::size_t>(2 * width));
    in_parallel(num_threads, static_cast<std::int64_t>(layout.mine().size()),
                [&](std::int64_t i, int thread) {
                    sum_over_degrees_of(static_cast<std::size_t>(i), width, spectral.data(), sums.of(thread));
                });
}

void Transform::Impl::sum_over_degrees_of(std::size_t i, std::int64_t width, const double* spectral,
                                          double* even) {
    double* const odd = even + width;
    const int m = layout.mine()[i];
    const std::int64_t degrees = layout.truncation + 2 - m;
    const double* const coefficients = spectral + layout.first_coefficient[i] * width;
    const std::vector<std::int64_t> places = row_places(width / 2, i);
    for (std::int64_t j = 0; j < num_north; ++j) {
        std::fill(even, even + 2 * width, 0.0);
        if (m <= highest_wavenumber(points_on(j), layout.truncation)) {
            const double* const polynomial = polynomials[i].data() + j;
            for (std::int64_t n = 0; n < degrees; ++n) {
                add_scaled(n % 2 == 0 ? even : odd, coefficients + n * width, polynomial[n * num_north],
                           width);
            }
        }
        double* const north = by_waves.data() + places[static_cast<std::size_t>(j)];
        double* const south = by_waves.data() + places[static_cast<std::size_t>(num_rows - 1 - j)];
        for (std::int64_t f = 0; f < width; ++f) {
            north[f] = even[f] + odd[f];
            south[f] = even[f] - odd[f];
        }
    }
}

void Transform::Impl::sum_over_rows(std::int64_t num_fields, std::span<double> spectral) {
    const std::int64_t width = num_fields * 2;
    sums.resize(num_threads, static_cast<std::size_t>(2 * width));
    in_parallel(num_threads, static_cast<std::int64_t>(layout.mine().size()),
                [&](std::int64_t i, int thread) {
                    sum_over_rows_of(static_cast<std::size_t>(i), width, spectral.data(), sums.of(thread));
                });
}

void Transform::Impl::sum_over_rows_of(std::size_t i, std::int64_t width, double* spectral, double* even) {
    double* const odd = even + width;
    const int m = layout.mine()[i];
    const std::int64_t degrees = layout.truncation + 2 - m;
    double* const coefficients = spectral + layout.first_coefficient[i] * width;
    std::fill(coefficients, coefficients + degrees * width, 0.0);
    const std::vector<std::int64_t> places = row_places(width / 2, i);
    for (std::int64_t j = 0; j < num_north; ++j) {
        if (m > highest_wavenumber(points_on(j), layout.truncation)) continue;
        const double* const north = by_waves.data() + places[static_cast<std::size_t>(j)];
        const double* const south = by_waves.data() + places[static_cast<std::size_t>(num_rows - 1 - j)];
        const double half_weight = grid.weight[static_cast<std::size_t>(j)] / 2;
        for (std::int64_t f = 0; f < width; ++f) {
            even[f] = half_weight * (north[f] + south[f]);
            odd[f] = half_weight * (north[f] - south[f]);
        }
        const double* const polynomial = polynomials[i].data() + j;
        for (std::int64_t n = 0; n < degrees; ++n) {
            add_scaled(coefficients + n * width, n % 2 == 0 ? even : odd, polynomial[n * num_north], width);
        }
    }
}

void Transform::Impl::waves_to_points(std::int64_t num_fields, std::span<double> values) {
    waves.resize(num_threads, static_cast<std::size_t>((longest_row() / 2 + 1) * num_fields));
    in_parallel(num_threads, rows_of(layout.rank), [&](std::int64_t local, int thread) {
        waves_to_points_of(layout.band_begin() + local, num_fields, values.data(), waves.of(thread));
    });
}

void Transform::Impl::waves_to_points_of(std::int64_t row, std::int64_t num_fields, double* values,
                                         std::complex<double>* wave) {
    const std::int64_t length = points_on(row), local = row - layout.band_begin(), stride = length / 2 + 1;
    std::fill(wave, wave + stride * num_fields, 0.0);
    const int highest = highest_wavenumber(length, layout.truncation);
    for (int rank = 0; rank < layout.num_ranks; ++rank) {
        const double* block = by_rows.data() + starts_by_rows[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < waves_of(rank).size(); ++i) {
            const int m = waves_of(rank)[i];
            if (m > highest) break;
            const double* from =
                block + (static_cast<std::int64_t>(i) * rows_of(layout.rank) + local) * num_fields * 2;
            for (std::int64_t f = 0; f < num_fields; ++f) {
                wave[f * stride + m] = {from[2 * f], from[2 * f + 1]};
            }
        }
    }
    const RowPlans& both = plans.at(length);
    for (std::int64_t f = 0; f < num_fields; ++f) {
        double* to = values + f * layout.num_points + layout.first_point[static_cast<std::size_t>(local)];
        fftw_execute_dft_c2r(both.to_points, reinterpret_cast<fftw_complex*>(wave + f * stride), to);
    }
}

void Transform::Impl::points_to_waves(std::int64_t num_fields, std::span<const double> values) {
    const std::int64_t longest = longest_row();
    waves.resize(num_threads, static_cast<std::size_t>((longest / 2 + 1) * num_fields));
    points.resize(num_threads, static_cast<std::size_t>(longest));
    in_parallel(num_threads, rows_of(layout.rank), [&](std::int64_t local, int thread) {
        points_to_waves_of(layout.band_begin() + local, num_fields, values.data(), points.of(thread),
                           waves.of(thread));
    });
}

void Transform::Impl::points_to_waves_of(std::int64_t row, std::int64_t num_fields, const double* values,
                                         double* line, std::complex<double>* wave) {
    const std::int64_t length = points_on(row), local = row - layout.band_begin(), stride = length / 2 + 1;
    const RowPlans& both = plans.at(length);
    for (std::int64_t f = 0; f < num_fields; ++f) {
        const double* from =
            values + f * layout.num_points + layout.first_point[static_cast<std::size_t>(local)];
        std::copy(from, from + length, line);
        fftw_execute_dft_r2c(both.to_waves, line, reinterpret_cast<fftw_complex*>(wave + f * stride));
    }
    const int highest = highest_wavenumber(length, layout.truncation);
    const double scale = 1 / static_cast<double>(length);
    for (int rank = 0; rank < layout.num_ranks; ++rank) {
        double* block = by_rows.data() + starts_by_rows[static_cast<std::size_t>(rank)];
        for (std::size_t i = 0; i < waves_of(rank).size(); ++i) {
            const int m = waves_of(rank)[i];
            double* to =
                block + (static_cast<std::int64_t>(i) * rows_of(layout.rank) + local) * num_fields * 2;
            for (std::int64_t f = 0; f < num_fields; ++f) {
                const std::complex<double> value = m <= highest ? wave[f * stride + m] * scale : 0;
                to[2 * f] = value.real();
                to[2 * f + 1] = value.imag();
            }
        }
    }
}

Transform::Transform(MPI_Comm comm, const GaussianGrid& grid, const Layout& layout, int num_threads)
    : impl_(std::make_unique<Impl>(comm, grid, layout, num_threads)) {}
Transform::~Transform() = default;

void Transform::to_grid(std::int64_t num_fields, std::span<const double> spectral, std::span<double> grid) {
    impl_->size_exchange(num_fields);
    impl_->sum_over_degrees(num_fields, spectral);
    impl_->exchange(true);
    impl_->waves_to_points(num_fields, grid);
}

void Transform::to_spectral(std::int64_t num_fields, std::span<const double> grid,
                            std::span<double> spectral) {
    impl_->size_exchange(num_fields);
    impl_->points_to_waves(num_fields, grid);
    impl_->exchange(false);
    impl_->sum_over_rows(num_fields, spectral);
}

}  // namespace hakobi::weather
