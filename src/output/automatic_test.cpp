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

/// Feeds the search what each way costs, in seconds a step of 1 s, until it is over; the ways in the order of the steps.
std::vector<int> steps_of(Search& search, const std::vector<Cost>& costs) {
    std::vector<int> steps;
    while (!search.is_over() && steps.size() < 20) {
        steps.push_back(search.current());
        search.add(costs[static_cast<std::size_t>(search.current())]);
    }
    return steps;
}

TEST(Search, EndsWhereTheFirstWayCostsNextToNothing) {
    Search search = all_ways();
    EXPECT_EQ(steps_of(search, std::vector<Cost>(4, {.cost_s = 0.004, .stored_s = 0.8, .interval_s = 1})),
              (std::vector<int>{0, 0}));
    EXPECT_EQ(search.current(), 0);
}

TEST(Search, KeepsTheCheapestAfterTryingTheBestTwoAgain) {
    Search search = all_ways();
    const std::vector<Cost> costs = {{.cost_s = 0.04, .stored_s = 0.05, .interval_s = 1},
                                     {.cost_s = 0.05, .stored_s = 0.06, .interval_s = 1},
                                     {.cost_s = 0.03, .stored_s = 0.03, .interval_s = 1},
                                     {.cost_s = 0.02, .stored_s = 0.02, .interval_s = 1}};
    EXPECT_EQ(steps_of(search, costs), (std::vector<int>{0, 0, 1, 2, 3, 3, 2}));
    EXPECT_EQ(search.current(), 3);
    EXPECT_NE(search.text().find("root 20.0 ms, pipelined 30.0 ms"), std::string::npos) << search.text();
}

TEST(Search, DoesNotWaitForStorageThatIsSlowerThanHiding) {
    Search search = all_ways();
    EXPECT_EQ(steps_of(search, std::vector<Cost>(4, {.cost_s = 0.04, .stored_s = 0.8, .interval_s = 1})),
              (std::vector<int>{0, 0, 1, 0, 1}));
    EXPECT_EQ(search.current(), 0);
}

TEST(Search, OfOneWayIsOver) {
    const Search search({{.name = "root"}});
    EXPECT_TRUE(search.is_over());
}

}  // namespace
}  // namespace hakobi::output
