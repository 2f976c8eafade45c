#include "wilson.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "generate.hpp"
#include "setting_test.hpp"
#include "solver.hpp"

// Ranks 1 to 4: each test goes through every way of cutting its lattice into blocks that the rank count
// allows.
namespace hakobi::lattice {
namespace {

using Matrix4 = std::array<std::array<Complex, 4>, 4>;

// The gamma matrices in full, written down from the basis's definition and not from the kernel.
Matrix4 gamma_matrix(int mu) {
    const Complex i{0, 1};
    switch (mu) {
        case 0:
            return {{{0, 0, 0, i}, {0, 0, i, 0}, {0, -i, 0, 0}, {-i, 0, 0, 0}}};
        case 1:
            return {{{0, 0, 0, -1}, {0, 0, 1, 0}, {0, 1, 0, 0}, {-1, 0, 0, 0}}};
        case 2:
            return {{{0, 0, i, 0}, {0, 0, 0, -i}, {-i, 0, 0, 0}, {0, i, 0, 0}}};
        default:
            return {{{0, 0, 1, 0}, {0, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, 0}}};
    }
}

Complex inner(const Setting& setting, const Spinor& a, const Spinor& b) {
    const auto add = [&](std::array<SiteSum, 2>& sums) {
        a.for_sites(-1, [&](std::int32_t s) {
            Complex sum = 0;
            for (int spin = 0; spin < 4; ++spin) {
                for (int c = 0; c < 3; ++c) sum += std::conj(a.get(s, spin, c)) * b.get(s, spin, c);
            }
            sums[0].add(sum.real());
            sums[1].add(sum.imag());
        });
    };
    const auto totals = sum_over_sites<2>(setting.add_up, 1, add);
    return {totals[0], totals[1]};
}

class WilsonWorld : public World {};

// On links of one, M turns a plane wave's spinor by 1 - 2 kappa sum (cos p_mu - i gamma_mu sin p_mu).
TEST_F(WilsonWorld, PlaneWavesOnColdLinksMeetTheClosedForm) {
    const Extents global{4, 6, 2, 8};
    const Extents waves{1, 2, 0, 3};
    for (const bool is_antiperiodic : {false, true}) {
        const Quark quark{.kappa = 0.11, .is_antiperiodic_in_time = is_antiperiodic};
        std::array<double, 4> momentum;
        for (std::size_t mu = 0; mu < 4; ++mu) {
            const double shift = mu == 3 && is_antiperiodic ? 0.5 : 0;
            momentum[mu] = 2 * std::numbers::pi * (static_cast<double>(waves[mu]) + shift) /
                           static_cast<double>(global[mu]);
        }
        for_every_decomposition(global, [&](Setting& setting) {
            Wilson wilson(*setting.exchange, setting.gauge, quark);
            Spinor in(*setting.exchange, setting.geometry), out(*setting.exchange, setting.geometry);
            const auto wave_at = [&](std::int32_t site) {
                double phase = 0;
                const Extents x = setting.geometry.global_coordinates(site);
                for (std::size_t mu = 0; mu < 4; ++mu) phase += momentum[mu] * static_cast<double>(x[mu]);
                return std::polar(1.0, phase);
            };
            const auto chi = [](int spin, int colour) { return Complex(spin + 1, colour - 0.5 * spin); };
            in.for_sites(-1, [&](std::int32_t s) {
                for (int spin = 0; spin < 4; ++spin) {
                    for (int c = 0; c < 3; ++c) in.set(s, spin, c, wave_at(s) * chi(spin, c));
                }
            });
            wilson.apply(in, out);
            double worst = 0;
            out.for_sites(-1, [&](std::int32_t s) {
                for (int spin = 0; spin < 4; ++spin) {
                    for (int c = 0; c < 3; ++c) {
                        Complex expected = chi(spin, c);
                        for (int mu = 0; mu < 4; ++mu) {
                            const double p = momentum[at(mu)];
                            expected -= 2 * quark.kappa * std::cos(p) * chi(spin, c);
                            for (int other = 0; other < 4; ++other) {
                                expected += 2 * quark.kappa * Complex(0, std::sin(p)) *
                                            gamma_matrix(mu)[at(spin)][at(other)] * chi(other, c);
                            }
                        }
                        worst = std::max(worst, std::abs(out.get(s, spin, c) - wave_at(s) * expected));
                    }
                }
            });
            EXPECT_LT(worst, 1e-13);
        });
    }
}

TEST_F(WilsonWorld, RotatedLinksTurnTheResultAlike) {
    for_every_decomposition({4, 2, 6, 4}, [&](Setting& setting) {
        Exchange& exchange = *setting.exchange;
        const Geometry& g = setting.geometry;
        make_hot(setting.gauge, 5);
        Spinor psi(exchange, g), turned(exchange, g), before(exchange, g), after(exchange, g);
        fill_normal(psi, 6);
        const auto turn = [&](const Spinor& from, Spinor& to) {
            from.for_sites(-1, [&](std::int32_t s) {
                const Su3 rotation = gauge_rotation(7, g.global_index(s));
                for (int spin = 0; spin < 4; ++spin) {
                    for (std::size_t i = 0; i < 3; ++i) {
                        Complex sum = 0;
                        for (std::size_t j = 0; j < 3; ++j) {
                            sum += rotation(i, j) * from.get(s, spin, static_cast<int>(j));
                        }
                        to.set(s, spin, static_cast<int>(i), sum);
                    }
                }
            });
        };
        Wilson wilson(exchange, setting.gauge, {});
        wilson.apply(psi, before);
        turn(psi, turned);
        rotate(setting.gauge, 7);
        Wilson rotated(exchange, setting.gauge, {});
        rotated.apply(turned, after);
        turn(before, turned);
        double worst = 0;
        after.for_sites(-1, [&](std::int32_t s) {
            for (int i = 0; i < 24; ++i)
                worst = std::max(worst, std::abs(after.site(s)[i] - turned.site(s)[i]));
        });
        EXPECT_LT(worst, 1e-13);
    });
}

TEST_F(WilsonWorld, TheAdjointIsGamma5MGamma5AndTheAdjoint) {
    for_every_decomposition({2, 4, 4, 6}, [&](Setting& setting) {
        Exchange& exchange = *setting.exchange;
        make_hot(setting.gauge, 8);
        Wilson wilson(exchange, setting.gauge, {});
        Spinor a(exchange, setting.geometry), b(exchange, setting.geometry), mb(exchange, setting.geometry),
            ma(exchange, setting.geometry), flipped(exchange, setting.geometry),
            m5a(exchange, setting.geometry);
        fill_normal(a, 1);
        fill_normal(b, 2);
        wilson.apply(b, mb);
        wilson.apply(a, ma, true);
        EXPECT_LT(std::abs(inner(setting, a, mb) - inner(setting, ma, b)), 1e-11);
        const auto gamma5 = [](const Spinor& from, Spinor& to) {
            from.for_sites(-1, [&](std::int32_t s) {
                for (int spin = 0; spin < 4; ++spin) {
                    for (int c = 0; c < 3; ++c)
                        to.set(s, spin, c, (spin < 2 ? 1.0 : -1.0) * from.get(s, spin, c));
                }
            });
        };
        gamma5(a, flipped);
        wilson.apply(flipped, m5a);
        gamma5(m5a, m5a);
        double worst = 0;
        ma.for_sites(-1, [&](std::int32_t s) {
            for (int i = 0; i < 24; ++i) worst = std::max(worst, std::abs(ma.site(s)[i] - m5a.site(s)[i]));
        });
        EXPECT_LT(worst, 1e-14);
    });
}

TEST_F(WilsonWorld, ConjugateGradientsSolveToTheTrueResidualAskedFor) {
    for_every_decomposition({4, 4, 2, 8}, [&](Setting& setting) {
        Exchange& exchange = *setting.exchange;
        make_hot(setting.gauge, 8);
        heatbath(setting.gauge, 5.7, 3, 2);
        Wilson wilson(exchange, setting.gauge, {.kappa = 0.13});
        Solver solver(exchange, wilson, setting.add_up);
        Spinor source(exchange, setting.geometry), x(exchange, setting.geometry),
            mx(exchange, setting.geometry);
        fill_point(source, {1, 0, 1, 3}, 2, 1);
        for (const double tolerance : {1e-6, 1e-13}) {
            const Solution solution = solver.solve(source, x, {.tolerance = tolerance});
            EXPECT_TRUE(solution.is_converged);
            EXPECT_LE(solution.residual, tolerance);
            wilson.apply(x, mx);
            double difference = 0;
            mx.for_sites(-1, [&](std::int32_t s) {
                for (int i = 0; i < 24; ++i) {
                    difference = std::max(difference, std::abs(mx.site(s)[i] - source.site(s)[i]));
                }
            });
            EXPECT_LE(difference, tolerance);
        }
        EXPECT_FALSE(solver.solve(source, x, {.tolerance = 1e-30, .max_iterations = 50}).is_converged);
    });
}

// The same bits, whatever the number of ranks, their grid and the way that ghosts travel.
TEST_F(WilsonWorld, EveryResultIsTheSameOnEveryDecomposition) {
    const Extents global{4, 6, 4, 4};
    struct Results {
        GaugeMeasures measures;
        Solution solution;
        std::vector<double> mult, propagator;  // of the whole lattice, by global index
    };
    const auto compute = [&](Setting& setting) {
        Exchange& exchange = *setting.exchange;
        const Geometry& g = setting.geometry;
        make_hot(setting.gauge, 11);
        heatbath(setting.gauge, 5.9, 12, 2);
        Results results{.measures = measure(setting.gauge, setting.comm, setting.add_up)};
        Wilson wilson(exchange, setting.gauge, {.kappa = 0.125});
        Spinor source(exchange, g), x(exchange, g), mult(exchange, g);
        fill_normal(source, 13);
        wilson.apply(source, mult);
        results.solution = Solver(exchange, wilson, setting.add_up).solve(source, x, {.tolerance = 1e-9});
        const auto collect = [&](const Spinor& field) {
            std::vector<double> whole(at(24 * g.num_global_sites()));
            field.for_sites(-1, [&](std::int32_t s) {
                std::copy_n(field.site(s), 24, &whole[at(24 * g.global_index(s))]);
            });
            MPI_Allreduce(MPI_IN_PLACE, whole.data(), static_cast<int>(whole.size()), MPI_DOUBLE, MPI_SUM,
                          setting.comm.handle());
            return whole;
        };
        results.mult = collect(mult);
        results.propagator = collect(x);
        return results;
    };
    Comm self = Comm::duplicate(MPI_COMM_SELF);
    Setting alone(self, global, {1, 1, 1, 1});
    const Results expected = compute(alone);
    for_every_decomposition(global, [&](Setting& setting) {
        const Results results = compute(setting);
        EXPECT_EQ(results.measures.plaquette, expected.measures.plaquette);
        EXPECT_EQ(results.measures.link_trace, expected.measures.link_trace);
        EXPECT_EQ(results.measures.unitarity_defect, expected.measures.unitarity_defect);
        EXPECT_EQ(results.solution.num_iterations, expected.solution.num_iterations);
        EXPECT_EQ(results.solution.residual, expected.solution.residual);
        EXPECT_TRUE(results.mult == expected.mult);
        EXPECT_TRUE(results.propagator == expected.propagator);
    });
    self.free();
}

}  // namespace
}  // namespace hakobi::lattice
