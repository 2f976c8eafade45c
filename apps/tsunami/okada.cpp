#include "okada.hpp"

#include <cmath>
#include <numbers>

namespace hakobi::tsunami {
namespace {

constexpr double lame_ratio = 0.5;  // mu / (lambda + mu) for Poisson's ratio 1/4

// The quantities of equation 30 that all corners share.
struct Frame {
    double sin_dip, cos_dip;
    double q;  // distance from the fault's plane
};

// Equations 25 (strike slip) and 26 (dip slip) at one corner (xi, eta), without the factor -slip / 2 pi, with
// the limits that the paper gives below equation 30 where a denominator vanishes.
struct Corner {
    Displacement strike, dip;
};

[[gnu::always_inline]] inline Corner corner(const Frame& frame, double xi, double eta) {
    const auto [s, c, q] = frame;
    const double y_tilde = eta * c + q * s;
    const double d_tilde = eta * s - q * c;
    const double r = std::sqrt(xi * xi + eta * eta + q * q);
    const double big_x = std::sqrt(xi * xi + q * q);
    const double scale = std::abs(xi) + std::abs(eta) + std::abs(q);
    const double tiny = 1e-12 * scale;

    const double r_eta = r + eta;
    const bool eta_regular = std::abs(r_eta) > tiny;
    const double inv_r_eta = eta_regular ? 1 / r_eta : 0;
    const double log_r_eta = eta_regular ? std::log(r_eta) : -std::log(r - eta);
    const double r_xi = r + xi;
    const double inv_r_xi = std::abs(r_xi) > tiny ? 1 / r_xi : 0;
    const double angle = std::abs(q) > tiny ? std::atan(xi * eta / (q * r)) : 0;

    double i1, i3, i4, i5;
    const double r_d = r + d_tilde;
    if (std::abs(c) > 1e-9) {
        i4 = lame_ratio / c * (std::log(r_d) - s * log_r_eta);
        i5 = std::abs(xi) > tiny
                 ? lame_ratio * 2 / c *
                       std::atan((eta * (big_x + q * c) + big_x * (r + big_x) * s) / (xi * (r + big_x) * c))
                 : 0;
        i3 = lame_ratio * (y_tilde / (c * r_d) - log_r_eta) + s / c * i4;
        i1 = lame_ratio * (-xi / (c * r_d)) - s / c * i5;
    } else {
        i4 = -lame_ratio * q / r_d;
        i5 = -lame_ratio * xi * s / r_d;
        i3 = lame_ratio / 2 * (eta / r_d + y_tilde * q / (r_d * r_d) - log_r_eta);
        i1 = -lame_ratio / 2 * xi * q / (r_d * r_d);
    }
    const double i2 = lame_ratio * (-log_r_eta) - i3;

    const double q_r_eta = q / r * inv_r_eta;
    const double q_r_xi = q / r * inv_r_xi;
    return {.strike = {.x = xi * q_r_eta + angle + i1 * s,
                       .y = y_tilde * q_r_eta + q * c * inv_r_eta + i2 * s,
                       .z = d_tilde * q_r_eta + q * s * inv_r_eta + i4 * s},
            .dip = {.x = q / r - i3 * s * c,
                    .y = y_tilde * q_r_xi + c * angle - i1 * s * c,
                    .z = d_tilde * q_r_xi + s * angle - i5 * s * c}};
}

// Chinnery's notation, equation 24: f(x, p) - f(x, p - W) - f(x - L, p) + f(x - L, p - W). `add` takes each
// corner's values with its sign.
template <class Add>
[[gnu::always_inline]] inline void for_corners(const RectangularFault& fault, double x, double y, Add add) {
    const double s = std::sin(fault.dip_rad);
    const double c = std::cos(fault.dip_rad);
    const double p = y * c + fault.depth * s;
    const Frame frame{.sin_dip = s, .cos_dip = c, .q = y * s - fault.depth * c};
    const double factor = -1 / (2 * std::numbers::pi);
    add(factor, corner(frame, x, p));
    add(-factor, corner(frame, x, p - fault.width));
    add(-factor, corner(frame, x - fault.length, p));
    add(factor, corner(frame, x - fault.length, p - fault.width));
}

}  // namespace

Displacement surface_displacement(const RectangularFault& fault, double x, double y) {
    Displacement sum;
    for_corners(fault, x, y, [&](double factor, const Corner& f) {
        sum.x += factor * (fault.strike_slip * f.strike.x + fault.dip_slip * f.dip.x);
        sum.y += factor * (fault.strike_slip * f.strike.y + fault.dip_slip * f.dip.y);
        sum.z += factor * (fault.strike_slip * f.strike.z + fault.dip_slip * f.dip.z);
    });
    return sum;
}

double surface_uplift(const RectangularFault& fault, double x, double y) {
    double sum = 0;
    for_corners(fault, x, y, [&](double factor, const Corner& f) {
        sum += factor * (fault.strike_slip * f.strike.z + fault.dip_slip * f.dip.z);
    });
    return sum;
}

}  // namespace hakobi::tsunami
