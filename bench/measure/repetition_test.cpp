#include "measure/repetition.hpp"

#include <gtest/gtest.h>

#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hakobi::measure {
namespace {

TEST(Repetition, TakesTurnsForwardsThenBackwards) {
    std::string order;
    const std::vector<Contender> contenders{{"a",
                                             [&] {
                                                 order += 'a';
                                                 return 1.0;
                                             }},
                                            {"b", [&] {
                                                 order += 'b';
                                                 return 2.0;
                                             }}};
    const auto results = measure_interleaved(contenders, {.min_samples = 10});
    ASSERT_GE(order.size(), 8U);
    EXPECT_EQ(order.substr(0, 8), "abbaabba");
    EXPECT_EQ(results[0].samples.size(), results[1].samples.size());
    EXPECT_EQ(results[0].summary.median, 1.0);
    EXPECT_EQ(results[1].summary.median, 2.0);
    EXPECT_EQ(order.size(),
              2 * (results[0].samples.size() + static_cast<std::size_t>(results[0].num_warmup)));
}

TEST(Repetition, StopsWhenTheIntervalIsAsNarrowAsAsked) {
    std::mt19937_64 random(1);
    const std::vector<Contender> contenders{
        {"noise", [&] { return std::normal_distribution<>(100, 10)(random); }}};
    const auto coarse = measure_interleaved(contenders, {.relative_width = 0.10, .budget_s = 30});
    const auto fine = measure_interleaved(contenders, {.relative_width = 0.01, .budget_s = 30});
    EXPECT_FALSE(coarse[0].wide);
    EXPECT_FALSE(fine[0].wide);
    EXPECT_LE(fine[0].summary.relative_width(), 0.01);
    // The interval narrows with the root of the number of samples: ten times narrower, about a hundred times
    // more.
    EXPECT_GT(fine[0].samples.size(), 10 * coarse[0].samples.size());
}

TEST(Repetition, ABudgetTooShortGivesTheLeastSamplesMarkedWide) {
    std::mt19937_64 random(2);
    const std::vector<Contender> contenders{
        {"noise", [&] { return std::uniform_real_distribution<>(1, 3)(random); }}};
    const auto results =
        measure_interleaved(contenders, {.relative_width = 0.001, .budget_s = 0, .min_samples = 12});
    EXPECT_EQ(results[0].samples.size(), 12U);
    EXPECT_TRUE(results[0].wide);
    EXPECT_GT(results[0].summary.relative_width(), 0.001);
}

TEST(Repetition, WarmUpEndsWhenTheSeriesIsFlatAndItsSamplesAreNotCounted) {
    int call = 0;
    const std::vector<Contender> contenders{
        {"warming", [&] { return ++call < 30 ? 1000.0 / call : 1000.0 / 30; }}};
    const auto results = measure_interleaved(contenders, {.relative_width = 0.02, .budget_s = 30});
    EXPECT_TRUE(results[0].is_stationary);
    EXPECT_GE(results[0].num_warmup, 20);
    EXPECT_NEAR(results[0].summary.median, 1000.0 / 30, 1.0);
}

TEST(Repetition, AContenderThatNeverSettlesIsSaidSo) {
    double value = 1;
    int asked = 0;
    const std::vector<Contender> contenders{{"growing", [&] { return value *= 1.5; }}};
    // Warm-up ends after 12 rounds and sampling after 8, as budgets would end them.
    const auto results =
        measure_interleaved(contenders, {}, [&](bool) { return ++asked != 12 && asked != 20; });
    EXPECT_EQ(results[0].num_warmup, 12);
    EXPECT_FALSE(results[0].is_stationary);
    EXPECT_TRUE(results[0].wide);
}

TEST(Repetition, OutliersStayAmongTheSamples) {
    int call = 0;
    const std::vector<Contender> contenders{
        {"spiky", [&] { return ++call % 10 == 0 ? 50.0 : 1.0 + 0.001 * (call % 3); }}};
    const RepetitionRule rule{.relative_width = 1e-9, .budget_s = 30, .min_samples = 100, .max_samples = 100};
    const auto results = measure_interleaved(contenders, rule);
    EXPECT_EQ(results[0].samples.size(), 100U);
    EXPECT_EQ(results[0].summary.max, 50.0);
    EXPECT_EQ(results[0].summary.num_outliers, 10);
    EXPECT_LT(results[0].summary.median, 1.01);
}

TEST(Repetition, TheAgreementDecides) {
    int asked = 0;
    const std::vector<Contender> contenders{{"constant", [] { return 1.0; }}};
    // This rank's own samples do not count: warm-up ends at the 7th question, sampling at the 25th.
    const auto results =
        measure_interleaved(contenders, {}, [&](bool) { return ++asked != 7 && asked < 25; });
    EXPECT_EQ(results[0].num_warmup, 7);
    EXPECT_EQ(results[0].samples.size(), 18U);
}

TEST(Repetition, WhatASampleThrowsPassesThrough) {
    const std::vector<Contender> contenders{
        {"broken", []() -> double { throw std::runtime_error("no data"); }}};
    EXPECT_THROW((void)measure_interleaved(contenders, {}), std::runtime_error);
}

TEST(Stationary, NeedsSixSamplesWhoseHalvesAgree) {
    EXPECT_FALSE(is_stationary(std::vector<double>{1, 1, 1, 1, 1}, 0.05));
    EXPECT_TRUE(is_stationary(std::vector<double>{9, 9, 1, 1.01, 1, 1, 1.01, 1}, 0.05));
    EXPECT_FALSE(is_stationary(std::vector<double>{3, 3, 3, 1, 1, 1}, 0.05));
    EXPECT_TRUE(is_stationary(std::vector<double>{1.0, 1.5, 1.2, 1.4, 1.0, 1.3},
                              0.05));  // no flatter than its own noise
}

}  // namespace
}  // namespace hakobi::measure
