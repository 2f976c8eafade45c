#include "output/uncovered.hpp"

#include <gtest/gtest.h>

#include <random>

namespace hakobi::output {
namespace {

Block box(std::vector<std::int64_t> global, std::vector<std::int64_t> start,
          std::vector<std::int64_t> count) {
    return {std::move(global), std::move(start), std::move(count)};
}

TEST(Uncovered, IsTheWholeArrayWithoutBlocksAndNothingOfAFullOne) {
    const std::vector<std::int64_t> global = {4, 6};
    EXPECT_EQ(uncovered(global, {}), (std::vector<Block>{box({4, 6}, {0, 0}, {4, 6})}));
    const std::vector<Block> halves = {box({4, 6}, {0, 3}, {4, 3}), box({4, 6}, {0, 0}, {4, 3}),
                                       box({4, 6}, {0, 0}, {0, 3})};
    EXPECT_TRUE(uncovered(global, halves).empty());
}

TEST(Uncovered, IsWhatIsAroundABlock) {
    const std::vector<Block> inner = {box({4, 6}, {1, 2}, {2, 3})};
    EXPECT_EQ(uncovered(inner[0].global, inner),
              (std::vector<Block>{box({4, 6}, {0, 0}, {1, 6}), box({4, 6}, {1, 0}, {2, 2}),
                                  box({4, 6}, {1, 5}, {2, 1}), box({4, 6}, {3, 0}, {1, 6})}));
}

TEST(Uncovered, AndTheBlocksAreEveryElementOnce) {
    std::mt19937 random(1);
    const auto below = [&](std::int64_t n) {
        return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
    };
    for (int round = 0; round < 200; ++round) {
        const std::vector<std::int64_t> global = {1 + below(5), 1 + below(6), 1 + below(7)};
        std::vector<int> owners(static_cast<std::size_t>(global[0] * global[1] * global[2]), 0);
        const auto count = [&](const Block& block, bool is_dry) {
            bool is_free = true;
            for (std::int64_t i = 0; i < block.num_elements(); ++i) {
                const std::int64_t z = block.start[0] + i / (block.count[1] * block.count[2]);
                const std::int64_t y = block.start[1] + i / block.count[2] % block.count[1];
                const std::int64_t x = block.start[2] + i % block.count[2];
                int& owner = owners[static_cast<std::size_t>((z * global[1] + y) * global[2] + x)];
                is_free = is_free && owner == 0;
                if (!is_dry) ++owner;
            }
            return is_free;
        };
        std::vector<Block> blocks;
        for (int tries = 0; tries < 6; ++tries) {
            Block block{global, {}, {}};
            for (const std::int64_t extent : global) {
                block.start.push_back(below(extent));
                block.count.push_back(1 + below(extent - block.start.back()));
            }
            if (!count(block, true)) continue;
            count(block, false);
            blocks.push_back(block);
        }
        for (const Block& rest : uncovered(global, blocks)) {
            for (int rank = 0; rank < 3; ++rank) count(share_of(rest, 3, rank), false);
        }
        ASSERT_EQ(owners, std::vector<int>(owners.size(), 1)) << round;
    }
}

}  // namespace
}  // namespace hakobi::output
