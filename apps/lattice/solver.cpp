#include "solver.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace hakobi::lattice {
namespace {

constexpr int even = 0, odd = 1, all = -1;
constexpr int n = kernel::doubles_per_spinor;

// One site's |psi|^2, always added in the same order; four sums at a time, so that a vector unit can do it.
double site_norm(const double* values) {
    double sums[4] = {0, 0, 0, 0};
    for (int i = 0; i < n; i += 4) {
        for (int k = 0; k < 4; ++k) sums[k] += values[i + k] * values[i + k];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

}  // namespace

double norm_squared(const Spinor& field, int parity, double scale, const AddUp& add_up) {
    const auto add = [&](std::array<SiteSum, 1>& sums) {
        field.for_sites(parity, [&](std::int32_t s) { sums[0].add(site_norm(field.site(s))); });
    };
    return sum_over_sites<1>(add_up, scale, add)[0];
}

Solver::Solver(Exchange& exchange, Wilson& wilson, const AddUp& add_up)
    : wilson_(&wilson),
      add_up_(add_up),
      source_even_(exchange, wilson.geometry()),
      residual_(exchange, wilson.geometry()),
      direction_(exchange, wilson.geometry()),
      image_(exchange, wilson.geometry()),
      odd_(exchange, wilson.geometry()),
      normal_(exchange, wilson.geometry()) {}

double Solver::norm(const Spinor& field, int parity, double scale) {
    return norm_squared(field, parity, scale, add_up_);
}

void Solver::apply_even(Spinor& in, Spinor& out, bool is_adjoint) {
    const double kappa = wilson_->quark().kappa;
    wilson_->hop(in, in, odd_, odd, 0, 1, is_adjoint);
    wilson_->hop(odd_, in, out, even, 1, -kappa * kappa, is_adjoint);
}

// Conjugate gradients for Mee^dagger Mee x = Mee^dagger source_even from `x`, until the residual of Mee x =
// source_even is estimated below the tolerance: r is carried for the normal equations, s for the equations
// themselves.
int Solver::iterate(Spinor& x, double tolerance, double source_norm, int max_iterations) {
    Spinor& s = source_even_;  // becomes source_even - Mee x
    apply_even(x, image_, false);
    s.for_sites(even, [&](std::int32_t site) {
        double* to = s.site(site);
        const double* image = image_.site(site);
        for (int i = 0; i < n; ++i) to[i] -= image[i];
    });
    apply_even(s, residual_, true);
    direction_.for_sites(
        even, [&](std::int32_t site) { std::copy_n(residual_.site(site), n, direction_.site(site)); });
    double true_norm = norm(s, even, source_norm);
    double rr = norm(residual_, even, source_norm);
    int iteration = 0;
    for (; iteration < max_iterations && true_norm > tolerance * tolerance * source_norm && rr > 0;
         ++iteration) {
        apply_even(direction_, image_, false);
        const double alpha = rr / norm(image_, even, rr);
        apply_even(image_, normal_, true);
        const auto advance = [&](std::array<SiteSum, 2>& sums, bool is_first) {
            x.for_sites(even, [&](std::int32_t site) {
                double* r = residual_.site(site);
                double* solved = x.site(site);
                double* left = s.site(site);
                const double* p = direction_.site(site);
                const double* q = image_.site(site);
                const double* a = normal_.site(site);
                for (int i = 0; is_first && i < n; ++i) {
                    solved[i] += alpha * p[i];
                    left[i] -= alpha * q[i];
                    r[i] -= alpha * a[i];
                }
                sums[0].add(site_norm(r));
                sums[1].add(site_norm(left));
            });
        };
        bool is_first = true;  // the sums may be asked for again, on another scale
        const auto totals = sum_over_sites<2>(add_up_, rr, [&](std::array<SiteSum, 2>& sums) {
            advance(sums, is_first);
            is_first = false;
        });
        const double beta = totals[0] / rr;
        rr = totals[0];
        true_norm = totals[1];
        direction_.for_sites(even, [&](std::int32_t site) {
            double* p = direction_.site(site);
            const double* r = residual_.site(site);
            for (int i = 0; i < n; ++i) p[i] = r[i] + beta * p[i];
        });
        if (!std::isfinite(rr)) return iteration + 1;
    }
    return iteration;
}

Solution Solver::solve(Spinor& source, Spinor& x, const SolverOptions& options) {
    const double kappa = wilson_->quark().kappa;
    const double sites = static_cast<double>(wilson_->geometry().num_global_sites());
    const double source_norm = norm(source, all, n * sites);
    Solution solution;
    if (source_norm == 0) {
        x.for_sites(all, [&](std::int32_t site) { std::fill_n(x.site(site), n, 0.0); });
        solution.is_converged = true;
        return solution;
    }
    double tolerance = 0.9 * options.tolerance;  // the odd sites' residual is rounding alone
    double last = std::numeric_limits<double>::infinity();
    for (;;) {
        wilson_->hop(source, source, source_even_, even, 1, kappa, false);
        solution.num_iterations +=
            iterate(x, tolerance, source_norm, options.max_iterations - solution.num_iterations);
        wilson_->hop(x, source, x, odd, 1, kappa, false);
        wilson_->apply(x, image_);
        image_.for_sites(all, [&](std::int32_t site) {
            double* image = image_.site(site);
            const double* b = source.site(site);
            for (int i = 0; i < n; ++i) image[i] = b[i] - image[i];
        });
        solution.residual =
            std::sqrt(norm(image_, all, options.tolerance * options.tolerance * source_norm) / source_norm);
        solution.is_converged = solution.residual <= options.tolerance;
        // Starting again helps while it halves what is left.
        const bool goes_on = solution.residual < 0.5 * last && std::isfinite(solution.residual);
        if (solution.is_converged || !goes_on || solution.num_iterations >= options.max_iterations) {
            return solution;
        }
        last = solution.residual;
    }
}

}  // namespace hakobi::lattice
