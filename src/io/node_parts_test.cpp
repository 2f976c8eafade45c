#include "io/node_parts.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hakobi::io {
namespace {

TEST(NodeParts, ARankPacksBehindTheLowerOnes) {
    std::vector<NodeParts::Bytes> words(3 * max_cycles_of_phase);
    const auto parts_of_rank = [&](int node_rank) { return NodeParts(words, node_rank); };
    const CyclePart first[] = {{0, 0, 100}, {2, 100, 130}};
    const CyclePart second[] = {{2, 0, 7}, {1, 7, 8}};
    parts_of_rank(0).set(first, 3);
    parts_of_rank(1).set(second, 3);
    parts_of_rank(2).set({}, 3);
    EXPECT_EQ(parts_of_rank(0).bytes_before(2), 0);
    EXPECT_EQ(parts_of_rank(1).bytes_before(2), 30);
    EXPECT_EQ(parts_of_rank(2).bytes_before(0), 100);
    EXPECT_EQ(parts_of_rank(2).bytes_before(1), 1);
    EXPECT_EQ(parts_of_rank(2).bytes_before(2), 37);
    // The next phase begins anew.
    parts_of_rank(0).set({}, 3);
    EXPECT_EQ(parts_of_rank(2).bytes_before(2), 7);
}

TEST(NodeParts, TheLastCycleOfAFullPhaseHasItsPlace) {
    std::vector<NodeParts::Bytes> words(2 * max_cycles_of_phase);
    const CyclePart last[] = {{max_cycles_of_phase - 1, 0, std::int64_t{1} << 30}};
    NodeParts(words, 0).set(last, max_cycles_of_phase);
    EXPECT_EQ(NodeParts(words, 1).bytes_before(max_cycles_of_phase - 1), std::int64_t{1} << 30);
}

}  // namespace
}  // namespace hakobi::io
