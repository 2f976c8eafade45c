#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <hakobi/topology.hpp>
#include <numeric>

namespace hakobi {
namespace {

/// So many ranks on each node, in order.
std::vector<int> nodes_of(int num_ranks, int node_size) {
    std::vector<int> nodes;
    for (int rank = 0; rank < num_ranks; ++rank) nodes.push_back(rank / node_size);
    return nodes;
}

TEST(Topology, ANodesRanksTakeACompactBlock) {
    // 64 nodes of 8 on 8 x 8 x 8: rows of 8 have 34 faces, cubes of 2 x 2 x 2 have 24.
    const std::vector<int> grid{8, 8, 8};
    const Reordering made = Topology::declare(nodes_of(512, 8)).reorder(grid, {}, {true, true, true});
    EXPECT_EQ(made.total, 2 * 3 * 512);
    EXPECT_EQ(made.between_nodes_before, 2 * 2 * 512);
    EXPECT_EQ(made.between_nodes_after, 2 * 3 * 512 / 2);
    EXPECT_EQ(made.text(), "between nodes: 1536 of 3072 instead of 2048 (25 % less)");
}

TEST(Topology, EveryRankHasOnePlaceAndNoGridGetsWorse) {
    for (const int node_size : {1, 2, 3, 5, 7, 16}) {
        for (const std::vector<int>& grid :
             {std::vector{24}, {4, 6}, {6, 4}, {2, 3, 4}, {2, 2, 2, 3}, {1, 24, 1}}) {
            const Reordering made = Topology::declare(nodes_of(24, node_size)).reorder(grid);
            EXPECT_LE(made.between_nodes_after, made.between_nodes_before);
            std::vector<int> sorted = made.rank_at;
            std::sort(sorted.begin(), sorted.end());
            for (int rank = 0; rank < 24; ++rank) EXPECT_EQ(sorted[static_cast<std::size_t>(rank)], rank);
        }
    }
}

TEST(Topology, RanksDealtOutInTurnComeTogether) {
    std::vector<int> nodes(16);
    for (std::size_t rank = 0; rank < 16; ++rank) nodes[rank] = static_cast<int>(rank % 4);
    const std::vector<int> grid{4, 4};
    const Reordering made = Topology::declare(nodes).reorder(grid);
    EXPECT_EQ(made.total, 2 * 24);
    EXPECT_EQ(made.between_nodes_after, 2 * 8);
}

TEST(Topology, WeightsDecideWhatIsCut) {
    const std::vector<int> grid{4, 4};
    const std::vector<std::int64_t> weights{1, 100};
    const Reordering made = Topology::declare(nodes_of(16, 4)).reorder(grid, weights);
    EXPECT_EQ(made.between_nodes_after, 2 * 12);  // whole rows stay together
}

TEST(Topology, SocketsAreKeptTogetherWhereNodesAllow) {
    const std::vector<int> grid{2, 4};
    const std::vector<int> nodes(8, 0), sockets{0, 1, 0, 1, 0, 1, 0, 1};
    const Reordering made = Topology::declare(nodes, sockets).reorder(grid);
    int cut = 0;
    for (int row = 0; row < 2; ++row) {
        for (int column = 0; column < 3; ++column) {
            const auto at = static_cast<std::size_t>(4 * row + column);
            cut += made.rank_at[at] % 2 != made.rank_at[at + 1] % 2;
        }
    }
    for (std::size_t at = 0; at < 4; ++at) cut += made.rank_at[at] % 2 != made.rank_at[at + 4] % 2;
    EXPECT_EQ(cut, 2);
}

TEST(Topology, RefusesWhatDoesNotFit) {
    const std::vector<int> nodes{0, 0, 1, 1}, grid{3, 1}, negative{0, -1}, sockets{0};
    EXPECT_THROW((void)Topology::declare(nodes).reorder(grid), Error);
    EXPECT_THROW((void)Topology::declare(negative), Error);
    EXPECT_THROW((void)Topology::declare(nodes, sockets), Error);
}

}  // namespace
}  // namespace hakobi
