#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <hakobi/block.hpp>
#include <hakobi/error.hpp>
#include <limits>
#include <numeric>
#include <set>
#include <span>
#include <vector>

namespace hakobi {
namespace {

using Extents = std::vector<std::int64_t>;

/// Whether some product of factors, none above its extent, is the number of ranks.
bool has_grid(std::span<const std::int64_t> global, int num_ranks) {
    if (global.empty()) return num_ranks == 1;
    for (int factor = 1; factor <= std::min<std::int64_t>(num_ranks, global[0]); ++factor) {
        if (num_ranks % factor == 0 && has_grid(global.subspan(1), num_ranks / factor)) return true;
    }
    return false;
}

TEST(DimsOfRanks, FactorTheRanksAndLeaveNobodyWithoutElements) {
    for (const Extents& global : {Extents{7}, {60, 101}, {3, 400}, {400, 3}, {17, 5, 9}, {2, 3, 4, 5}}) {
        for (int num_ranks = 1; num_ranks <= 24; ++num_ranks) {
            if (!has_grid(global, num_ranks)) {
                EXPECT_THROW((void)dims_of_ranks(global, num_ranks), Error) << num_ranks;
                continue;
            }
            const std::vector<int> dims = dims_of_ranks(global, num_ranks);
            EXPECT_EQ(std::accumulate(dims.begin(), dims.end(), 1, std::multiplies<>()), num_ranks);
            for (std::size_t d = 0; d < dims.size(); ++d) EXPECT_LE(dims[d], global[d]);
        }
    }
}

TEST(DimsOfRanks, ChooseTheSmallestSurface) {
    EXPECT_EQ(dims_of_ranks(Extents{100, 100}, 4), (std::vector<int>{2, 2}));
    EXPECT_EQ(dims_of_ranks(Extents{1000, 10}, 4), (std::vector<int>{4, 1}));
    EXPECT_EQ(dims_of_ranks(Extents{10, 1000}, 4), (std::vector<int>{1, 4}));
    EXPECT_EQ(dims_of_ranks(Extents{64, 64, 64}, 8), (std::vector<int>{2, 2, 2}));
}

TEST(DimsOfRanks, CutSlowDimensionsWhereTheSurfaceIsEqual) {
    EXPECT_EQ(dims_of_ranks(Extents{100, 100}, 2), (std::vector<int>{2, 1}));
    EXPECT_EQ(dims_of_ranks(Extents{64, 64, 64}, 2), (std::vector<int>{2, 1, 1}));
}

TEST(DimsOfRanks, FitAPrimeNumberOfRanksIntoTheOnlyDimensionThatTakesIt) {
    EXPECT_EQ(dims_of_ranks(Extents{3, 400}, 7), (std::vector<int>{1, 7}));
}

TEST(DimsOfRanks, RanksThatDontFitTheGridAreAnError) {
    EXPECT_THROW((void)dims_of_ranks(Extents{2, 3}, 7), Error);
    EXPECT_THROW((void)dims_of_ranks(Extents{2, 3}, 5), Error);
    EXPECT_THROW((void)dims_of_ranks(Extents{5, 0}, 1), Error);
    EXPECT_THROW((void)dims_of_ranks(Extents{}, 1), Error);
    EXPECT_THROW((void)dims_of_ranks(Extents{4}, 0), Error);
}

TEST(Split, GivesEveryElementToExactlyOneRankAndDiffersByAtMostOne) {
    for (const Extents& global : {Extents{11}, {13, 7}, {5, 6, 7}}) {
        for (const int num_ranks : {1, 2, 3, 4, 6, 7}) {
            std::set<std::int64_t> seen;
            Extents least = global, most(global.size(), 0);
            for (int rank = 0; rank < num_ranks; ++rank) {
                const Block block = split(global, num_ranks, rank);
                EXPECT_EQ(block.global, global);
                for (std::size_t d = 0; d < global.size(); ++d) {
                    least[d] = std::min(least[d], block.count[d]);
                    most[d] = std::max(most[d], block.count[d]);
                }
                for (std::int64_t n = 0; n < block.num_elements(); ++n) {
                    std::int64_t rest = n, element = 0, stride = 1;
                    for (std::size_t d = global.size(); d-- > 0;) {
                        element += (block.start[d] + rest % block.count[d]) * stride;
                        rest /= block.count[d];
                        stride *= global[d];
                    }
                    EXPECT_TRUE(seen.insert(element).second);
                }
            }
            EXPECT_EQ(std::ssize(seen),
                      std::accumulate(global.begin(), global.end(), std::int64_t{1}, std::multiplies<>()));
            for (std::size_t d = 0; d < global.size(); ++d) EXPECT_LE(most[d] - least[d], 1);
        }
    }
}

TEST(Split, CountsRanksThroughTheDimensionsInCOrder) {
    EXPECT_EQ(split({10, 10}, 4, 1), (Block{{10, 10}, {0, 5}, {5, 5}}));
    EXPECT_EQ(split({10, 10}, 4, 2), (Block{{10, 10}, {5, 0}, {5, 5}}));
    EXPECT_EQ(split({5}, 3, 0), (Block{{5}, {0}, {2}}));
    EXPECT_EQ(split({5}, 3, 2), (Block{{5}, {4}, {1}}));
}

TEST(Split, ARankOutsideIsAnError) {
    EXPECT_THROW((void)split({5}, 3, 3), Error);
    EXPECT_THROW((void)split({5}, 3, -1), Error);
}

TEST(Block, WithoutDimensionsOrWithAnEmptyOneHasNoElements) {
    EXPECT_EQ(Block{}.num_elements(), 0);
    EXPECT_EQ((Block{{5, 5}, {0, 0}, {0, 5}}).num_elements(), 0);
}

TEST(Block, OfMoreElementsThanCanBeCountedHasTheMostThatCan) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    EXPECT_EQ((Block{{most, most}, {0, 0}, {most, most}}).num_elements(), most);
    EXPECT_EQ((Block{{most, most, 1}, {0, 0, 0}, {most, most, 0}}).num_elements(), 0);
}

TEST(Split, OfTheLongestArraysLeavesNoGap) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
    const Block last = split({most}, 7, 6);
    EXPECT_EQ(last.start[0] + last.count[0], most);
}

}  // namespace
}  // namespace hakobi
