#include "generate.hpp"

#include <algorithm>
#include <array>

#include "random.hpp"

namespace hakobi::lattice {
namespace {

// Epochs of random numbers: sweeps count from the bottom.
constexpr std::uint32_t hot_epoch = 0xffffffff, rotation_epoch = 0xfffffffe;

std::uint64_t place_of_link(const Geometry& geometry, std::int32_t site, int mu) {
    return static_cast<std::uint64_t>(4 * geometry.global_index(site) + mu);
}

// a0 + i a . sigma, a multiple of an SU(2) matrix.
struct Quaternion {
    double a0, a1, a2, a3;
};

// The part of a 3 x 3 matrix's block in rows and columns i, j that an SU(2) matrix's real trace feels.
Quaternion block_of(const Su3& m, std::size_t i, std::size_t j) {
    return {0.5 * (m(i, i).real() + m(j, j).real()), 0.5 * (m(i, j).imag() + m(j, i).imag()),
            0.5 * (m(i, j).real() - m(j, i).real()), 0.5 * (m(i, i).imag() - m(j, j).imag())};
}

Quaternion product(const Quaternion& a, const Quaternion& b) {
    // (a0 + i a.sigma)(b0 + i b.sigma) = a0 b0 - a.b + i (a0 b + b0 a - a x b) . sigma
    return {a.a0 * b.a0 - a.a1 * b.a1 - a.a2 * b.a2 - a.a3 * b.a3,
            a.a0 * b.a1 + b.a0 * a.a1 - (a.a2 * b.a3 - a.a3 * b.a2),
            a.a0 * b.a2 + b.a0 * a.a2 - (a.a3 * b.a1 - a.a1 * b.a3),
            a.a0 * b.a3 + b.a0 * a.a3 - (a.a1 * b.a2 - a.a2 * b.a1)};
}

// m with its rows i, j multiplied from the left by the SU(2) matrix `a`.
void multiply_rows(Su3& m, std::size_t i, std::size_t j, const Quaternion& a) {
    const Complex ii{a.a0, a.a3}, ij{a.a2, a.a1}, ji{-a.a2, a.a1}, jj{a.a0, -a.a3};
    for (std::size_t k = 0; k < 3; ++k) {
        const Complex above = m(i, k), below = m(j, k);
        m(i, k) = times(ii, above) + times(ij, below);
        m(j, k) = times(ji, above) + times(jj, below);
    }
}

// An SU(2) matrix with the weight exp(strength * a0) over the group.
Quaternion draw(double strength, PlaceRandom& random) {
    double a0 = 0;
    // After so many draws, which no strength above rounding needs, the last one is taken.
    for (int attempt = 0; attempt < 1000; ++attempt) {
        const double x = -std::log(random.uniform()) / strength;
        const double y = -std::log(random.uniform()) / strength;
        const double c = std::cos(2 * std::numbers::pi * random.uniform());
        const double delta = x * c * c + y;
        const double u = random.uniform();
        a0 = std::max(1 - delta, -1.0);
        if (u * u <= 1 - 0.5 * delta) break;
    }
    const double radius = std::sqrt(std::max(0.0, 1 - a0 * a0));
    const double cosine = 2 * random.uniform() - 1;
    const double sine = std::sqrt(1 - cosine * cosine);
    const double angle = 2 * std::numbers::pi * random.uniform();
    return {a0, radius * sine * std::cos(angle), radius * sine * std::sin(angle), radius * cosine};
}

void renew(Su3& link, const Su3& staple, double beta, PlaceRandom& random) {
    for (const auto& [i, j] : {std::array<std::size_t, 2>{0, 1}, {0, 2}, {1, 2}}) {
        const Quaternion w = block_of(link * adjoint(staple), i, j);
        const double size = std::sqrt(w.a0 * w.a0 + w.a1 * w.a1 + w.a2 * w.a2 + w.a3 * w.a3);
        if (!(size > 1e-14)) continue;  // the action does not feel this subgroup
        // Re Tr (a w) / 3 * beta = (2/3) beta size * (a w/size)_0: draw that product, then undo w.
        const Quaternion drawn = draw(2.0 / 3.0 * beta * size, random);
        const Quaternion undo{w.a0 / size, -w.a1 / size, -w.a2 / size, -w.a3 / size};
        multiply_rows(link, i, j, product(drawn, undo));
    }
    reunitarize(link);
}

}  // namespace

void make_hot(Gauge& gauge, std::uint64_t seed) {
    const Geometry& g = gauge.geometry();
    for (const std::int32_t site : g.sites()) {
        for (int mu = 0; mu < num_directions; ++mu) {
            gauge.set_link(site, mu, PlaceRandom(seed, hot_epoch, place_of_link(g, site, mu)).su3());
        }
    }
    gauge.update();
}

void heatbath(Gauge& gauge, double beta, std::uint64_t seed, int num_sweeps, int first_sweep) {
    const Geometry& g = gauge.geometry();
    for (int sweep = first_sweep; sweep < first_sweep + num_sweeps; ++sweep) {
        for (int mu = 0; mu < num_directions; ++mu) {
            for (int parity = 0; parity < 2; ++parity) {
                for (const auto sites : {g.interior(parity), g.boundary(parity)}) {
                    for (const std::int32_t site : sites) {
                        PlaceRandom random(seed, static_cast<std::uint32_t>(sweep),
                                           place_of_link(g, site, mu));
                        Su3 link = gauge.link(site, mu);
                        renew(link, gauge.staple(site, mu), beta, random);
                        gauge.set_link(site, mu, link);
                    }
                }
                gauge.update();
            }
        }
    }
}

Su3 gauge_rotation(std::uint64_t seed, std::int64_t global_site) {
    return PlaceRandom(seed, rotation_epoch, static_cast<std::uint64_t>(global_site)).su3();
}

void rotate(Gauge& gauge, std::uint64_t seed) {
    const Geometry& g = gauge.geometry();
    const auto rotation = [&](std::int32_t site) { return gauge_rotation(seed, g.global_index(site)); };
    for (const std::int32_t site : g.sites()) {
        for (int mu = 0; mu < num_directions; ++mu) {
            gauge.set_link(site, mu,
                           rotation(site) * gauge.link(site, mu) * adjoint(rotation(g.forward(site, mu))));
        }
    }
    gauge.update();
}

}  // namespace hakobi::lattice
