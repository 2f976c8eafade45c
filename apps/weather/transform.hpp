#pragma once

#include <hakobi/comm.hpp>

#include <cstdint>
#include <memory>
#include <span>

#include "gaussian.hpp"
#include "layout.hpp"

namespace hakobi::weather {

/// Spherical-harmonic transforms of several fields at once, over the ranks of a communicator.
///
/// A spectral block holds `num_fields` fields on this rank's wavenumbers: for each of them in order, for n =
/// m … T + 1, for each field, real and imaginary part. A grid block holds, for each field, the points of this
/// rank's band of rows.
///
///  1. to_grid: Legendre sums over n on the rank that has the wavenumber, north and south together by parity;
///     one MPI_Alltoallv from wavenumbers to rows; a Fourier transform of each row (FFTW, planned without
///     timing).
///  2. to_spectral: the same backwards; the sum over rows is made by one rank, in the rows' order.
///
/// On a reduced row the wavenumbers that it cannot carry count as zero. Both calls are collective. The
/// threads of a rank share its wavenumbers and its rows, each of which is one thread's: results do not depend
/// on their number.
class Transform {
  public:
    Transform(MPI_Comm comm, const GaussianGrid& grid, const Layout& layout, int num_threads);
    ~Transform();
    Transform(const Transform&) = delete;
    Transform& operator=(const Transform&) = delete;

    void to_grid(std::int64_t num_fields, std::span<const double> spectral, std::span<double> grid);
    void to_spectral(std::int64_t num_fields, std::span<const double> grid, std::span<double> spectral);

  private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi::weather
