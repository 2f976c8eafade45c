#include "histogram.hpp"

#include <gtest/gtest.h>

namespace hakobi::bench {
namespace {

TEST(RateHistogram, CountsEveryRateInOneClass) {
    const std::vector<double> rates{0.5, 4.9, 5.0, 99.0, 143.0};
    const RateHistogram histogram = histogram_of(rates, 143.5);
    EXPECT_EQ(histogram.class_mb_s, 5);
    EXPECT_EQ(histogram.num(), 5);
    EXPECT_EQ(histogram.counts[0], 2);
    EXPECT_EQ(histogram.counts[1], 1);
    EXPECT_EQ(histogram.counts[19], 1);
    EXPECT_EQ(histogram.counts[28], 1);
    EXPECT_EQ(histogram.median_mb_s, 5.0);
}

TEST(RateHistogram, HasTheMedianOfEachTenthInOrder) {
    std::vector<double> rates(40, 10.0);
    std::fill(rates.end() - 4, rates.end(), 3.0);
    EXPECT_EQ(histogram_of(rates, 30).tenths_mb_s,
              (std::vector<double>{10, 10, 10, 10, 10, 10, 10, 10, 10, 3}));
    EXPECT_EQ(histogram_of(std::vector{1.0, 2.0}, 30).tenths_mb_s.size(), 2U);
}

TEST(RateHistogram, PutsRatesFarAboveTheLinksIntoTheLastClass) {
    const std::vector<double> rates{1.0, 1e9};
    const RateHistogram histogram = histogram_of(rates, 30);
    EXPECT_EQ(histogram.num(), 2);
    EXPECT_LE(histogram.counts.size(), 100U);
}

TEST(RateHistogram, DrawsTheClassesThatAreNotEmpty) {
    const std::vector<double> rates{10.0, 10.5, 20.0};
    const std::string text = histogram_text("halo, alone", histogram_of(rates, 30));
    EXPECT_NE(text.find("halo, alone: 3 messages"), std::string::npos);
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace hakobi::bench
