#include "measure/statistics.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

namespace hakobi::measure {
namespace {

using Draw = std::function<double(std::mt19937_64&)>;

/// Share of `trials` sets of `n` draws whose interval holds the true median.
double coverage(const Draw& draw, double true_median, int n, double confidence, int trials) {
    std::mt19937_64 random(20260117);
    int held = 0;
    std::vector<double> samples(static_cast<std::size_t>(n));
    for (int trial = 0; trial < trials; ++trial) {
        for (double& sample : samples) sample = draw(random);
        held += median_interval(samples, confidence).contains(true_median) ? 1 : 0;
    }
    return static_cast<double>(held) / trials;
}

TEST(Quantile, MatchesHandComputedValues) {
    const std::vector<double> samples{4, 1, 3, 2};
    EXPECT_EQ(median(samples), 2.5);
    EXPECT_EQ(quantile(samples, 0), 1);
    EXPECT_EQ(quantile(samples, 1), 4);
    EXPECT_DOUBLE_EQ(quantile(samples, 0.25), 1.75);
    EXPECT_TRUE(std::isnan(median({})));
}

TEST(MedianInterval, TakesTheOrderStatisticsOfTheBinomialTable) {
    // The textbook table of distribution-free intervals at 0.95: n = 10 takes the 2nd and 9th, n = 20 the 6th
    // and 15th.
    std::vector<double> samples(10);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i + 1);
    EXPECT_EQ(median_interval(samples, 0.95).low, 2);
    EXPECT_EQ(median_interval(samples, 0.95).high, 9);
    samples.resize(20);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(i + 1);
    EXPECT_EQ(median_interval(samples, 0.95).low, 6);
    EXPECT_EQ(median_interval(samples, 0.95).high, 15);
    EXPECT_EQ(samples_needed(0.95), 6);
    EXPECT_EQ(samples_needed(0.99), 8);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsPromisedWhateverTheDistribution) {
    const Draw normal = [](auto& random) { return std::normal_distribution<>(3, 2)(random); };
    const Draw exponential = [](auto& random) { return std::exponential_distribution<>(1)(random); };
    const Draw cauchy = [](auto& random) { return std::cauchy_distribution<>(-1, 5)(random); };
    for (int n : {6, 9, 10, 33, 200}) {
        // 4,000 trials: the share's standard deviation at 0.95 is 0.0034.
        EXPECT_GE(coverage(normal, 3, n, 0.95, 4000), 0.94) << n;
        EXPECT_GE(coverage(exponential, std::log(2.0), n, 0.95, 4000), 0.94) << n;
        EXPECT_GE(coverage(cauchy, -1, n, 0.95, 4000), 0.94) << n;
    }
    // And it is not wide beyond need: at n = 200 the exact cover is 0.956.
    EXPECT_LE(coverage(normal, 3, 200, 0.95, 4000), 0.97);
}

TEST(MedianInterval, IsTheWholeRangeWhereSamplesAreTooFew) {
    const std::vector<double> samples{5, 1, 9};
    EXPECT_EQ(median_interval(samples, 0.95).low, 1);
    EXPECT_EQ(median_interval(samples, 0.95).high, 9);
}

TEST(Summary, CountsOutliersAndKeepsThemInTheRange) {
    std::vector<double> samples(50, 1.0);
    for (std::size_t i = 0; i < samples.size(); ++i) samples[i] += 0.001 * static_cast<double>(i % 5);
    samples[17] = 40;
    const Summary summary = summarize(samples);
    EXPECT_EQ(summary.num_samples, 50);
    EXPECT_EQ(summary.num_outliers, 1);
    EXPECT_EQ(summary.max, 40);
    EXPECT_NEAR(summary.median, 1.002, 1e-12);
    EXPECT_LT(summary.spread(), 0.01);
}

TEST(CompareInterleaved, TheSameThingTwiceIsCalledDifferentInFewerThanFiveOfAHundred) {
    std::mt19937_64 random(4711);
    int named = 0;
    const int trials = 2000;
    for (int trial = 0; trial < trials; ++trial) {
        // Skewed noise on a machine that slows down by half during the run: equal for both contenders.
        std::vector<double> a(30);
        std::vector<double> b(30);
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double drift = 1 + 0.5 * static_cast<double>(i) / 30;
            a[i] = drift * std::lognormal_distribution<>(0, 0.1)(random);
            b[i] = drift * std::lognormal_distribution<>(0, 0.1)(random);
        }
        named += compare_interleaved(a, b).differs ? 1 : 0;
    }
    EXPECT_LT(static_cast<double>(named) / trials, 0.02);
}

TEST(CompareInterleaved, NamesADifferenceThatIsThereInSpiteOfDrift) {
    std::mt19937_64 random(815);
    int named = 0;
    for (int trial = 0; trial < 200; ++trial) {
        std::vector<double> a(30);
        std::vector<double> b(30);
        for (std::size_t i = 0; i < a.size(); ++i) {
            const double drift = 1 + 3.0 * static_cast<double>(i) / 30;
            a[i] = 1.1 * drift * std::lognormal_distribution<>(0, 0.03)(random);
            b[i] = drift * std::lognormal_distribution<>(0, 0.03)(random);
        }
        const Comparison comparison = compare_interleaved(a, b);
        EXPECT_NEAR(comparison.ratio, 1.1, 0.1);
        named += comparison.differs ? 1 : 0;
    }
    EXPECT_GE(named, 195);
}

TEST(CompareInterleaved, TooFewRoundsNameNothing) {
    const std::vector<double> a{2, 2, 2};
    const std::vector<double> b{1, 1, 1};
    EXPECT_FALSE(compare_interleaved(a, b).differs);
    EXPECT_EQ(compare_interleaved(a, b).ratio, 2);
    EXPECT_FALSE(compare_interleaved({}, {}).differs);
}

}  // namespace
}  // namespace hakobi::measure
