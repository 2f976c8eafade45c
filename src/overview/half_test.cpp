#include "overview/half.hpp"

#include <gtest/gtest.h>

#include <limits>

using hakobi::overview::float_of;
using hakobi::overview::Half;
using hakobi::overview::half_of;

namespace {

double value_of(Half half) {
    const int exponent = half >> 10U, fraction = half & 0x3ff;
    return exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
}

template <class Float>
void expect_nearest() {
    for (Half half = 0; half < hakobi::overview::largest; ++half) {
        const auto next = static_cast<Half>(half + 1);
        const auto low = static_cast<Float>(value_of(half)), high = static_cast<Float>(value_of(next));
        const Float middle = (low + high) / 2;
        ASSERT_EQ(float_of(half), low);
        ASSERT_EQ(half_of(low), half);
        ASSERT_EQ(half_of(-high), next | 0x8000);
        ASSERT_EQ(half_of(middle), half % 2 == 0 ? half : next) << "halfway behind " << half;
        ASSERT_EQ(half_of(std::nextafter(middle, low)), half);
        ASSERT_EQ(half_of(std::nextafter(middle, high)), next);
    }
}

TEST(Half, IsTheNearestOfEveryFloat) {
    expect_nearest<float>();
}

TEST(Half, IsTheNearestOfEveryDouble) {
    expect_nearest<double>();
}

TEST(Half, OfFiniteValuesIsFinite) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    for (const double value : {65504.0, 65519.0, 65520.0, 1e30, 1e300}) {
        EXPECT_EQ(half_of(value), hakobi::overview::largest);
        EXPECT_EQ(half_of(-value), hakobi::overview::largest | 0x8000);
    }
    EXPECT_EQ(half_of(infinity), 0x7c00);
    EXPECT_EQ(half_of(-static_cast<float>(infinity)), 0xfc00);
    EXPECT_TRUE(std::isnan(float_of(half_of(std::nan("")))));
}

}  // namespace
