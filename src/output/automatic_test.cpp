#include "output/automatic.hpp"

#include <gtest/gtest.h>

namespace hakobi::output {
namespace {

Search all_ways() {
    return Search({{.name = "pipelined+hidden", .is_hidden = true},
                   {.name = "root+hidden", .is_hidden = true},
                   {.name = "pipelined", .hidden_twin = 0},
                   {.name = "root", .hidden_twin = 1}});
}

/// Feeds the search what each way costs, in seconds a step of 1 s, until it is over or so many were written;
/// the ways in the order of the steps.
std::vector<int> steps_of(Search& search, const std::vector<Cost>& costs, std::size_t most = 20) {
    std::vector<int> steps;
    while (!search.is_over() && steps.size() < most) {
        steps.push_back(search.current());
        Cost cost = costs[static_cast<std::size_t>(search.current())];
        cost.elapsed_s = static_cast<double>(steps.size() - 1);
        search.is_judged() ? search.add(cost) : search.pass();
    }
    return steps;
}

TEST(Search, EndsWhereTheFirstWayCostsNextToNothing) {
    Search search = all_ways();
    EXPECT_EQ(steps_of(search, std::vector<Cost>(4, {.cost_s = 0.004, .stored_s = 0.8, .interval_s = 1})),
              (std::vector<int>{0, 0}));
    EXPECT_EQ(search.current(), 0);
    // It says nothing of the whole run, whose first step and close may cost more.
    EXPECT_EQ(search.text(),
              "its second step cost 0.40 % of the time between two, too little to gain by another way: "
              "pipelined+hidden 4.0 ms a step");
}

TEST(Search, KeepsAnotherWayThatIsCheaperInEveryTry) {
    Search search = all_ways();
    const std::vector<Cost> costs = {{.cost_s = 0.04, .stored_s = 0.05, .interval_s = 1},
                                     {.cost_s = 0.05, .stored_s = 0.04, .interval_s = 1},
                                     {.cost_s = 0.03, .stored_s = 0.03, .interval_s = 1},
                                     {.cost_s = 0.02, .stored_s = 0.02, .interval_s = 1}};
    EXPECT_EQ(steps_of(search, costs), (std::vector<int>{0, 0, 1, 2, 3, 3, 3, 0, 0}));
    EXPECT_EQ(search.current(), 3);
    EXPECT_NE(search.text().find("root 20.0 ms, pipelined 30.0 ms"), std::string::npos) << search.text();
}

TEST(Search, KeepsTheFirstWayWhereAnotherIsCheaperOnlyNowAndThen) {
    Search search(
        {{.name = "pipelined+hidden", .is_hidden = true}, {.name = "root+hidden", .is_hidden = true}});
    const auto cost = [](double cost_s) {
        return Cost{.cost_s = cost_s, .stored_s = 0.5, .interval_s = 1, .elapsed_s = 1000};
    };
    search.add(cost(0.2));  // the warm-up
    search.add(cost(0.040));
    for (const double of_root : {0.030, 0.045}) {
        ASSERT_EQ(search.current(), 1) << "it may be cheaper";
        search.add(cost(of_root));
    }
    EXPECT_TRUE(search.is_over());
    EXPECT_EQ(search.current(), 0);
    EXPECT_NE(search.text().find("none of those tried is cheaper outside the spread"), std::string::npos)
        << search.text();
}

TEST(Search, KeepsTheFirstWayWhereItsNextTryIsAsCheap) {
    Search search(
        {{.name = "pipelined+hidden", .is_hidden = true}, {.name = "root+hidden", .is_hidden = true}});
    const auto cost = [](double cost_s) {
        return Cost{.cost_s = cost_s, .stored_s = 0.5, .interval_s = 1, .elapsed_s = 1000};
    };
    for (const double cost_s : {0.2, 0.040, 0.030, 0.031, 0.032}) search.add(cost(cost_s));
    ASSERT_EQ(search.current(), 0) << "now the first way is tried again";
    search.add(cost(0.030));
    EXPECT_TRUE(search.is_over());
    EXPECT_EQ(search.current(), 0);
}

TEST(Search, DoesNotWaitForStorageThatIsSlowerThanHiding) {
    Search search = all_ways();
    EXPECT_EQ(steps_of(search, std::vector<Cost>(4, {.cost_s = 0.04, .stored_s = 0.8, .interval_s = 1})),
              (std::vector<int>{0, 0, 1}));
    EXPECT_EQ(search.current(), 0);
}

TEST(Search, WaitsWithATrialUntilTheRunHasPaidForIt) {
    // Not hidden, a step would wait 0.09 s; the run may spend 0.02 s for each of its seconds.
    const std::vector<Cost> costs = {{.cost_s = 0.10, .stored_s = 0.13, .interval_s = 1},
                                     {.cost_s = 0.15, .stored_s = 0.14, .interval_s = 1},
                                     {.cost_s = 0.16, .stored_s = 0.16, .interval_s = 1},
                                     {.cost_s = 0.17, .stored_s = 0.17, .interval_s = 1}};
    Search search = all_ways();
    double spent_s = 0;
    const std::vector<int> steps = steps_of(search, costs, 200);
    for (std::size_t i = 1; i < steps.size(); ++i) {
        spent_s += costs[static_cast<std::size_t>(steps[i])].cost_s - 0.10;
        // One trial may cost more than was expected of it.
        EXPECT_LE(spent_s, 0.02 * static_cast<double>(i) + 0.05) << "step " << i;
    }
    EXPECT_TRUE(search.is_over());
    EXPECT_EQ(search.current(), 0);
    EXPECT_GT(steps.size(), 8U) << "trials one after the other";
}

TEST(Search, DoesNotTryWhatAShortRunCannotPayFor) {
    Search search({{.name = "pipelined+hidden", .is_hidden = true},
                   {.name = "root+hidden", .is_hidden = true, .factor = 8}});
    const std::vector<Cost> costs(2, {.cost_s = 0.10, .stored_s = 0.3, .interval_s = 1});
    EXPECT_EQ(steps_of(search, costs), std::vector<int>(20, 0)) << "0.7 s are 2 % of 35 steps";
    EXPECT_FALSE(search.is_judged()) << "the steps between go on unjudged, several under way at once";
    EXPECT_NE(search.text().find("once the run has paid for it"), std::string::npos) << search.text();
    EXPECT_EQ(steps_of(search, costs, 17).back(), 1) << "then it is tried";
}

TEST(Search, OfOneWayIsOver) {
    const Search search({{.name = "root"}});
    EXPECT_TRUE(search.is_over());
}

}  // namespace
}  // namespace hakobi::output
