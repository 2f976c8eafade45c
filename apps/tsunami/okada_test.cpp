#include "okada.hpp"

#include <gtest/gtest.h>

#include <numbers>

namespace hakobi::tsunami {
namespace {

constexpr double deg = std::numbers::pi / 180;

// Okada (1985), table 2: the check list, printed with four digits.
struct CheckListCase {
    const char* name;
    double x, y, depth, dip_deg;
    Displacement strike, dip;
};

const CheckListCase check_list[] = {
    {"case 2", 2, 3, 4, 70, {-8.689e-3, -4.298e-3, -2.747e-3}, {-4.682e-3, -3.527e-2, -3.564e-2}},
    {"case 3", 0, 0, 4, 90, {0, 5.253e-3, 0}, {0, 0, 0}},
    {"case 4", 0, 0, 4, -90, {0, -1.303e-3, 0}, {0, 0, 0}},
};

void expect_near(const Displacement& got, const Displacement& expected, const char* name) {
    const auto half_digit = [](double value) { return value == 0 ? 1e-15 : 0.51e-3 * std::abs(value); };
    EXPECT_NEAR(got.x, expected.x, half_digit(expected.x)) << name;
    EXPECT_NEAR(got.y, expected.y, half_digit(expected.y)) << name;
    EXPECT_NEAR(got.z, expected.z, half_digit(expected.z)) << name;
}

TEST(Okada, StrikeSlipAgreesWithThePapersCheckList) {
    for (const auto& c : check_list) {
        const RectangularFault fault{
            .length = 3, .width = 2, .depth = c.depth, .dip_rad = c.dip_deg * deg, .strike_slip = 1};
        expect_near(surface_displacement(fault, c.x, c.y), c.strike, c.name);
    }
}

TEST(Okada, DipSlipAgreesWithThePapersCheckList) {
    for (const auto& c : check_list) {
        const RectangularFault fault{
            .length = 3, .width = 2, .depth = c.depth, .dip_rad = c.dip_deg * deg, .dip_slip = 1};
        expect_near(surface_displacement(fault, c.x, c.y), c.dip, c.name);
    }
}

TEST(Okada, AThrustRaisesTheGroundAboveItsUpperEdgeAndIsSymmetricAlongStrike) {
    const RectangularFault fault{
        .length = 100e3, .width = 50e3, .depth = 21e3, .dip_rad = 19 * deg, .dip_slip = 10};
    const double above_upper_edge = 0.8 * 50e3;
    const auto left = surface_displacement(fault, 30e3, above_upper_edge);
    const auto right = surface_displacement(fault, 70e3, above_upper_edge);
    EXPECT_GT(left.z, 1.0);
    EXPECT_NEAR(left.z, right.z, 1e-12 * left.z);
    EXPECT_NEAR(left.x, -right.x, 1e-12);
}

TEST(Okada, DisplacementVanishesFarAway) {
    const RectangularFault fault{
        .length = 100e3, .width = 50e3, .depth = 21e3, .dip_rad = 19 * deg, .dip_slip = 10};
    EXPECT_LT(std::abs(surface_displacement(fault, 2000e3, 500e3).z), 1e-3);
}

}  // namespace
}  // namespace hakobi::tsunami
