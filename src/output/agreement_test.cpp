#include "output/agreement.hpp"

#include <gtest/gtest.h>

namespace hakobi::output {
namespace {

TEST(FindOverlap, NamesTwoBlocksWithElementsInCommon) {
    const Block a{{10, 10}, {0, 0}, {5, 10}}, b{{10, 10}, {5, 0}, {5, 5}}, c{{10, 10}, {5, 5}, {5, 5}},
        d{{10, 10}, {9, 4}, {1, 2}}, empty{{10, 10}, {0, 0}, {0, 10}};
    EXPECT_FALSE(find_overlap(std::vector{a, b, c, empty}).has_value());
    EXPECT_EQ(find_overlap(std::vector{c, empty, a, d}), std::make_pair(0, 3));
    EXPECT_EQ(find_overlap(std::vector{a, a}), std::make_pair(0, 1));
    EXPECT_FALSE(find_overlap(std::vector{empty, empty}).has_value());
}

}  // namespace
}  // namespace hakobi::output
