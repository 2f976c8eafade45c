#include "gauge.hpp"

#include <cmath>
#include <hakobi/error.hpp>
#include <limits>

#include "generate.hpp"
#include "random.hpp"
#include "setting_test.hpp"

namespace hakobi::lattice {
namespace {

// The answers that come with the generator's reference implementation.
TEST(PlaceRandom, IsPhilox) {
    using Words = std::array<std::uint32_t, 4>;
    EXPECT_EQ(PlaceRandom::philox({0, 0, 0, 0}, {0, 0}),
              (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(PlaceRandom::philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(PlaceRandom, MakesMatricesOfSu3) {
    for (std::uint64_t place = 0; place < 50; ++place) {
        EXPECT_LT(unitarity_defect(PlaceRandom(1, 2, place).su3()), 1e-14);
    }
    Su3 wrong = Su3::one();
    wrong(1, 1) = -1;  // unitary, determinant -1
    EXPECT_GT(unitarity_defect(wrong), 1);
}

TEST(SiteSum, IsExactWhateverTheOrder) {
    const AddUp alone = [](std::span<double>) {};
    const std::vector<double> values{1e-7, 3.0, -2.5e-3, 1e5, 7e-12, -1e5, 0.1};
    for (const double scale : {1e-30, 1.0, 1e40}) {  // two of them far off
        const auto sum = [&](auto begin, auto end) {
            return sum_over_sites<1>(alone, scale, [&](auto& sums) {
                for (auto value = begin; value != end; ++value) sums[0].add(*value);
            })[0];
        };
        const double forwards = sum(values.begin(), values.end());
        EXPECT_EQ(forwards, sum(values.rbegin(), values.rend()));
        EXPECT_NEAR(forwards, 3.0975001000070, 1e-11);
    }
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (const double bad : {nan, std::numeric_limits<double>::infinity()}) {
        EXPECT_TRUE(std::isnan(sum_over_sites<1>(alone, 1, [&](auto& sums) { sums[0].add(bad); })[0]));
    }
}

TEST(Geometry, RefusesWhatCannotBeCut) {
    EXPECT_THROW(Geometry({4, 4, 4, 5}, {1, 1, 1, 1}, 1, 0), Error);  // odd
    EXPECT_THROW(Geometry({4, 4, 4, 0}, {1, 1, 1, 1}, 1, 0), Error);  // empty
    EXPECT_THROW(Geometry({4, 4, 4, 4}, {1, 1, 1, 2}, 4, 0), Error);  // other ranks
    EXPECT_THROW(Geometry({2, 4, 4, 4}, {3, 1, 1, 1}, 3, 0), Error);  // a rank without sites
    EXPECT_THROW(Geometry({4, 4, 4, 4}, {0, 1, 1, 1}, 0, 0), Error);
    EXPECT_THROW(Geometry({1 << 10, 1 << 10, 1 << 10, 4}, {1, 1, 1, 1}, 1, 0), Error);  // too large
    EXPECT_THROW((void)choose_rank_grid({2, 2, 2, 2}, 5, "xyzt"), Error);
    EXPECT_EQ(choose_rank_grid({4, 4, 4, 8}, 2, "xyz")[3], 1);
}

class GaugeWorld : public World {};

TEST_F(GaugeWorld, PlaquetteAndTraceOfColdLinksAreOne) {
    for_every_decomposition({2, 4, 4, 6}, [](Setting& setting) {
        GaugeMeasures measures = measure(setting.gauge, setting.comm, setting.add_up);
        EXPECT_EQ(measures.plaquette, 1);
        EXPECT_EQ(measures.link_trace, 1);
        rotate(setting.gauge, 3);  // a gauge transformation leaves the plaquette and no single link
        measures = measure(setting.gauge, setting.comm, setting.add_up);
        EXPECT_NEAR(measures.plaquette, 1, 1e-14);
        EXPECT_LT(measures.link_trace, 0.3);
        EXPECT_LT(measures.unitarity_defect, 1e-14);
    });
}

TEST_F(GaugeWorld, StaplesMakeUpTheAction) {
    for_every_decomposition({4, 4, 2, 4}, [](Setting& setting) {
        make_hot(setting.gauge, 4);
        const Geometry& g = setting.geometry;
        const auto sums = sum_over_sites<1>(setting.add_up, 1, [&](auto& totals) {
            for (const std::int32_t site : g.sites()) {
                double sum = 0;
                for (int mu = 0; mu < num_directions; ++mu) {
                    sum += real_trace(setting.gauge.link(site, mu) * adjoint(setting.gauge.staple(site, mu)));
                }
                totals[0].add(sum);
            }
        });
        const double plaquette = measure(setting.gauge, setting.comm, setting.add_up).plaquette;
        EXPECT_NEAR(sums[0] / (4 * 18 * static_cast<double>(g.num_global_sites())), plaquette, 1e-13);
    });
}

// Strong coupling: beta/18 + beta^2/216 to the fourth order. Weak coupling: 0.5937 at beta 6 on large
// lattices (G. Boyd et al., Nuclear Physics B 469 (1996), 419).
TEST_F(GaugeWorld, TheHeatbathMeetsKnownPlaquettes) {
    if (comm.size() > 2) GTEST_SKIP() << "the same bits as with fewer ranks: other tests hold that";
    const auto mean = [&](const Extents& extents, double beta, int num_thermal, int num_measured) {
        const RankGrid grid = choose_rank_grid(extents, comm.size(), "xyzt");
        Setting setting(comm, extents, grid);
        make_hot(setting.gauge, 21);
        heatbath(setting.gauge, beta, 22, num_thermal);
        double sum = 0;
        for (int i = 0; i < num_measured; ++i) {
            heatbath(setting.gauge, beta, 22, 1, num_thermal + i);
            sum += measure(setting.gauge, setting.comm, setting.add_up).plaquette;
        }
        return sum / num_measured;
    };
    EXPECT_NEAR(mean({4, 4, 4, 4}, 0.9, 3, 30), 0.9 / 18 + 0.81 / 216, 0.004);
    EXPECT_NEAR(mean({6, 6, 6, 6}, 6.0, 30, 15), 0.5937, 0.006);
}

}  // namespace
}  // namespace hakobi::lattice
