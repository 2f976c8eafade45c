#include "mult_benchmark.hpp"

#include <gtest/gtest.h>

namespace hakobi::lattice {
namespace {

MultTimes times(double low_s, double median_s, double high_s) {
    MultTimes result;
    result.low_s = low_s;
    result.median_s = median_s;
    result.high_s = high_s;
    return result;
}

TEST(Speedup, IsThatOfTheMediansWhichStandBesideIt) {
    const Speedup speedup = speedup_over(times(1, 2, 9), times(1, 4, 30));
    EXPECT_DOUBLE_EQ(speedup.ratio, 0.5);
    EXPECT_LE(speedup.low, speedup.ratio);
    EXPECT_GE(speedup.high, speedup.ratio);
    EXPECT_FALSE(speedup.differs());
}

TEST(Speedup, DiffersWhereTheQuartilesDoNotOverlap) {
    EXPECT_TRUE(speedup_over(times(4, 5, 6), times(1, 2, 3)).differs());
    EXPECT_TRUE(speedup_over(times(1, 2, 3), times(4, 5, 6)).differs());
    EXPECT_FALSE(speedup_over(times(1, 2, 4), times(3, 5, 6)).differs());
}

}  // namespace
}  // namespace hakobi::lattice
