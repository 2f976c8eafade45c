#include "kernel.hpp"

#include <algorithm>
#include <cmath>

#include "grid.hpp"

// Compiled for several instruction sets where the platform picks at load time. No fused multiply-add (the
// target's name has none, and CMakeLists.txt forbids contraction): a value must not depend on its place in a
// vector loop.
#ifdef HAKOBI_TSUNAMI_CLONES
#define HAKOBI_VECTORISED __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define HAKOBI_VECTORISED
#endif

namespace hakobi::tsunami::kernel {
namespace {

constexpr double g = gravity_m_s2;

// By value: with std::min and std::max, which return references, the compiler gives up on vector loops.
[[gnu::always_inline]] inline double lower(double a, double b) {
    return a < b ? a : b;
}
[[gnu::always_inline]] inline double higher(double a, double b) {
    return a > b ? a : b;
}

// Monotonised central slope: the difference across a cell from the differences to its neighbours.
[[gnu::always_inline]] inline double limited(double below, double above) {
    const double least = 2 * lower(std::abs(below), std::abs(above));
    const double size = lower(least, 0.5 * std::abs(below + above));
    return below * above > 0 ? std::copysign(size, below) : 0.0;
}

}  // namespace

HAKOBI_VECTORISED void primitives(std::int64_t count, const double* __restrict eta,
                                  const double* __restrict bed, const double* __restrict normal_momentum,
                                  const double* __restrict tangential_momentum, double dry_depth,
                                  const Primitive& out) {
    double* __restrict depth = out.depth;
    double* __restrict normal = out.normal;
    double* __restrict tangential = out.tangential;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const double h = eta[i] - bed[i];
        const bool is_wet = h > dry_depth;
        const double inverse = is_wet ? 1 / h : 0.0;
        depth[i] = higher(h, 0.0);
        normal[i] = normal_momentum[i] * inverse;
        tangential[i] = tangential_momentum[i] * inverse;
    }
}

HAKOBI_VECTORISED void reconstruct(std::int64_t count, const Stencil& stencil, double dry_depth,
                                   double half_ratio, double half_metric, const Faces& out) {
    const double* __restrict eta_below = stencil.eta_below;
    const double* __restrict eta = stencil.eta;
    const double* __restrict eta_above = stencil.eta_above;
    const double* __restrict bed_below = stencil.bed_below;
    const double* __restrict bed_above = stencil.bed_above;
    const auto [depth_below, normal_below, tangential_below] = stencil.below;
    const auto [depth, normal, tangential] = stencil.here;
    const auto [depth_above, normal_above, tangential_above] = stencil.above;
    double* __restrict eta_minus = out.eta_minus;
    double* __restrict eta_plus = out.eta_plus;
    double* __restrict normal_minus = out.normal_minus;
    double* __restrict normal_plus = out.normal_plus;
    double* __restrict tangential_minus = out.tangential_minus;
    double* __restrict tangential_plus = out.tangential_plus;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const double h = depth[i];
        const double least_depth = lower(h, lower(depth_below[i], depth_above[i]));
        const double on = least_depth > dry_depth ? 1.0 : 0.0;
        const double n = normal[i];
        const double t = tangential[i];
        const double eta_slope = on * limited(eta[i] - eta_below[i], eta_above[i] - eta[i]);
        const double normal_slope = on * limited(n - normal_below[i], normal_above[i] - n);
        const double tangential_slope = on * limited(t - tangential_below[i], tangential_above[i] - t);
        const double depth_slope = on * (eta_slope - 0.5 * (bed_above[i] - bed_below[i]));
        const double eta_half =
            eta[i] - half_ratio * (h * normal_slope + n * depth_slope) + on * half_metric * (h * n);
        const double normal_half = n - half_ratio * (n * normal_slope + g * eta_slope);
        const double tangential_half = t - half_ratio * (n * tangential_slope);
        eta_minus[i] = eta_half - 0.5 * eta_slope;
        eta_plus[i] = eta_half + 0.5 * eta_slope;
        normal_minus[i] = normal_half - 0.5 * normal_slope;
        normal_plus[i] = normal_half + 0.5 * normal_slope;
        tangential_minus[i] = tangential_half - 0.5 * tangential_slope;
        tangential_plus[i] = tangential_half + 0.5 * tangential_slope;
    }
}

HAKOBI_VECTORISED void fluxes(std::int64_t count, const Sides& left, const Sides& right, double hold_left,
                              double hold_right, const Fluxes& out) {
    const auto [eta_l, normal_l, tangential_l, bed_l, depth_l] = left;
    const auto [eta_r, normal_r, tangential_r, bed_r, depth_r] = right;
    double* __restrict mass = out.mass;
    double* __restrict tangential = out.tangential;
    double* __restrict push_left = out.push_left;
    double* __restrict push_right = out.push_right;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const double shallowest = lower(depth_l[i], depth_r[i]);
        const double bed = higher(0.5 * (bed_l[i] + bed_r[i]), higher(bed_l[i], bed_r[i]) - shallowest);
        const double hl = higher(eta_l[i] - bed, 0.0);
        const double hr = higher(eta_r[i] - bed, 0.0);
        const double nl = normal_l[i];
        const double nr = normal_r[i];
        const double cl = std::sqrt(g * hl);
        const double cr = std::sqrt(g * hr);
        // Slowest and fastest wave; beside a dry bed the front of a rarefaction, u - 2c or u + 2c.
        const double slow_any = hl > 0 ? lower(nl - cl, hr > 0 ? nr - cr : nl - cl) : nr - 2 * cr;
        const double fast_any = hr > 0 ? higher(nr + cr, hl > 0 ? nl + cl : nr + cr) : nl + 2 * cl;
        const double slow = lower(slow_any, 0.0);
        const double fast = higher(fast_any, 0.0);
        const double width = fast - slow;
        const double inverse = width > 1e-12 ? 1 / width : 0.0;

        const double ql = hl * nl;
        const double qr = hr * nr;
        const double rise = hr - hl;
        const double hll_mass = (fast * ql - slow * qr + slow * fast * rise) * inverse;
        const double m = higher(lower(hll_mass, hold_left * depth_l[i]), -hold_right * depth_r[i]);
        const double carried = (fast * (ql * nl) - slow * (qr * nr) + slow * fast * (qr - ql)) * inverse;
        const double pressure = 0.5 * g * rise * (hl + hr) * inverse;
        mass[i] = m;
        tangential[i] = m * (m > 0 ? tangential_l[i] : tangential_r[i]);
        push_left[i] = carried - slow * pressure;
        push_right[i] = carried - fast * pressure;
    }
}

HAKOBI_VECTORISED void update(std::int64_t count, const Update& constants, const Fluxes& minus,
                              const Fluxes& plus, const Faces& faces, const double* __restrict bed,
                              double* __restrict eta, double* __restrict normal_momentum,
                              double* __restrict tangential_momentum) {
    const auto [ratio, weight_minus, weight_plus, dry_depth] = constants;
    const double* mass_minus = minus.mass;
    const double* mass_plus = plus.mass;
    const double* tangential_minus = minus.tangential;
    const double* tangential_plus = plus.tangential;
    const double* push_minus = minus.push_right;  // the cell is on the right of its lower face
    const double* push_plus = plus.push_left;
    const double* eta_minus = faces.eta_minus;
    const double* eta_plus = faces.eta_plus;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const double mean_depth = higher(0.5 * (eta_minus[i] + eta_plus[i]) - bed[i], 0.0);
        const double e = eta[i] - ratio * (weight_plus * mass_plus[i] - weight_minus * mass_minus[i]);
        const double n = normal_momentum[i] - ratio * (push_plus[i] - push_minus[i] +
                                                       g * mean_depth * (eta_plus[i] - eta_minus[i]));
        const double t = tangential_momentum[i] -
                         ratio * (weight_plus * tangential_plus[i] - weight_minus * tangential_minus[i]);
        const bool is_wet = e - bed[i] > dry_depth;
        eta[i] = e;
        normal_momentum[i] = is_wet ? n : 0.0;
        tangential_momentum[i] = is_wet ? t : 0.0;
    }
}

HAKOBI_VECTORISED void turn_and_record(std::int64_t count, double dt, double coriolis_per_s,
                                       double tan_over_radius, double dry_depth, const double* __restrict eta,
                                       const double* __restrict bed, double* __restrict east_momentum,
                                       double* __restrict north_momentum, double* __restrict eta_max) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < count; ++i) {
        const double h = eta[i] - bed[i];
        const bool is_wet = h > dry_depth;
        const double inverse = is_wet ? 1 / h : 0.0;
        const double qx = east_momentum[i];
        const double qy = north_momentum[i];
        // du/dt = a v, dv/dt = -a u by the implicit midpoint rule, an exact rotation.
        const double half = 0.5 * dt * (coriolis_per_s + qx * inverse * tan_over_radius);
        const double scale = 1 / (1 + half * half);
        const double cosine = (1 - half * half) * scale;
        const double sine = 2 * half * scale;
        // The sweep to the north leaves h v^2 unweighted by the faces' lengths; the rest of that term is this
        // factor.
        const double spread = 1 + dt * (qy * inverse) * tan_over_radius;
        east_momentum[i] = cosine * qx + sine * qy;
        north_momentum[i] = (cosine * qy - sine * qx) * spread;
        eta_max[i] = is_wet ? higher(eta_max[i], eta[i]) : eta_max[i];
    }
}

double max_rate(std::int64_t count, double dx_m, double dy_m, double dry_depth, const double* eta,
                const double* bed, const double* east_momentum, const double* north_momentum) {
    double highest = 0;
    for (std::int64_t i = 0; i < count; ++i) {
        const double h = eta[i] - bed[i];
        if (!(h > dry_depth)) continue;
        const double c = std::sqrt(g * h);
        highest = std::max(highest, (std::abs(east_momentum[i]) / h + c) / dx_m);
        highest = std::max(highest, (std::abs(north_momentum[i]) / h + c) / dy_m);
    }
    return highest;
}

}  // namespace hakobi::tsunami::kernel
