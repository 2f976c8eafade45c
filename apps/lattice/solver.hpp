#pragma once

#include "wilson.hpp"

namespace hakobi::lattice {

struct SolverOptions {
    double tolerance = 1e-10;  ///< of the residual relative to the source, |b - M x| / |b|
    int max_iterations = 10000;
};

struct Solution {
    int num_iterations = 0;
    double residual = 0;  ///< |b - M x| / |b|, computed from x
    bool is_converged = false;
};

/// Solves M x = b by conjugate gradients on the normal equations of the even sites alone,
///
///     Mee = 1 - kappa^2 Heo Hoe,   Mee^dagger Mee xe = Mee^dagger (be + kappa Heo bo),   xo = bo + kappa Hoe xe,
///
/// H being the hopping term (T. DeGrand, Computer Physics Communications 52 (1988), 161). Two scalars an
/// iteration travel by `add_up`; they and the solution are the same bits for every decomposition. `x` is the
/// start. When the recursive residual met the tolerance and the true one did not, it starts again from there.
/// Collective.
class Solver {
  public:
    /// Collective; all is lent.
    Solver(Exchange& exchange, Wilson& wilson, const AddUp& add_up);
    [[nodiscard]] Solution solve(Spinor& source, Spinor& x, const SolverOptions& options);

  private:
    void apply_even(Spinor& in, Spinor& out, bool is_adjoint);
    int iterate(Spinor& x, double tolerance, double source_norm, int max_iterations);
    double norm(const Spinor& field, int parity, double scale);

    Wilson* wilson_;
    AddUp add_up_;
    Spinor source_even_, residual_, direction_, image_, odd_, normal_;
};

/// The sum of |psi|^2 over the sites of a parity (-1: all). `scale`: where it is expected. Collective; the
/// same bits for every decomposition.
[[nodiscard]] double norm_squared(const Spinor& field, int parity, double scale, const AddUp& add_up);

}  // namespace hakobi::lattice
