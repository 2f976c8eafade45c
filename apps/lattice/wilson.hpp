#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>

#include "edges.hpp"
#include "exchange.hpp"
#include "gauge.hpp"
#include "kernel.hpp"
#include "sums.hpp"

namespace hakobi::lattice {

/// A quark field: 24 doubles a site, as kernel.hpp has them.
class Spinor : public Field {
  public:
    /// Zero. Collective.
    Spinor(Exchange& exchange, const Geometry& geometry)
        : Field(exchange, geometry, kernel::doubles_per_spinor,
                exchange.sends_halves() ? Reach::none : Reach::faces),
          geometry_(&geometry) {}

    [[nodiscard]] const Geometry& geometry() const { return *geometry_; }
    /// Component of a stored site.
    [[nodiscard]] Complex get(std::int32_t s, int spin, int colour) const {
        const double* value = site(s) + 8 * colour + 2 * spin;
        return {value[0], value[1]};
    }
    void set(std::int32_t s, int spin, int colour, Complex value) {
        double* to = site(s) + 8 * colour + 2 * spin;
        to[0] = value.real();
        to[1] = value.imag();
    }
    /// Calls `action(site)` for this rank's sites of a parity, or of both with parity -1.
    template <class Action>
    void for_sites(int parity, const Action& action) const {
        for (int p = 0; p < 2; ++p) {
            if (parity >= 0 && p != parity) continue;
            for (const std::int32_t s : geometry_->interior(p)) action(s);
            for (const std::int32_t s : geometry_->boundary(p)) action(s);
        }
    }

  private:
    const Geometry* geometry_;
};

/// Independent normal deviates of variance 1 in every real component, or a one in one component of one site.
/// Local.
void fill_normal(Spinor& field, std::uint64_t seed);
void fill_point(Spinor& field, const Extents& where, int spin, int colour);

/// A quark's parameters: hopping parameter and the sign with which it passes the end of time.
struct Quark {
    double kappa = 0.12;
    bool is_antiperiodic_in_time = true;
};

/// Where the time of operator calls goes, seconds since the operator was made; local.
struct OperatorTimes {
    double total_s = 0;
    double communication_s = 0;  ///< inside start() and wait() of the ghosts or halves
    std::int64_t num_hops = 0;   ///< exchanges
};

/// The Wilson Dirac operator on a fixed configuration:
///
///     M psi(x) = psi(x) - kappa sum over mu of (1 - gamma_mu) U_mu(x) psi(x + mu)
///                                             + (1 + gamma_mu) U_mu(x - mu)^dagger psi(x - mu)
///
/// The sites inside a block are computed while the ghosts of those at its edge travel. Every call is
/// collective; its result is the same bits for every decomposition.
class Wilson {
  public:
    /// Keeps a copy of the links with the time boundary's sign in it. Collective.
    Wilson(Exchange& exchange, const Gauge& gauge, const Quark& quark);

    [[nodiscard]] const Geometry& geometry() const { return *geometry_; }
    [[nodiscard]] const Quark& quark() const { return quark_; }

    /// out = M in, or M^dagger in: the "mult". `out` is another field.
    void apply(Spinor& in, Spinor& out, bool is_adjoint = false);
    /// out = base_factor base + hop_factor (hopping term of in), on the sites of `parity` (-1: all); `base`
    /// may be out.
    void hop(Spinor& in, const Spinor& base, Spinor& out, int parity, double base_factor, double hop_factor,
             bool is_adjoint);

    [[nodiscard]] const OperatorTimes& times() const { return times_; }
    /// Floating-point operations of one `apply` over all ranks.
    [[nodiscard]] double flops_per_apply() const;

  private:
    const Geometry* geometry_;
    Quark quark_;
    std::shared_ptr<double> links_;
    std::array<std::unique_ptr<Edges>, 3> edges_;  ///< where halves travel: for even results, odd ones, both
    OperatorTimes times_;
};

}  // namespace hakobi::lattice
