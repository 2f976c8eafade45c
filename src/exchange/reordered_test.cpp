#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <hakobi/error.hpp>
#include <hakobi/topology.hpp>

namespace hakobi {
namespace {

TEST(Reordered, RanksGetTheNumbersOfTheirPlaces) {
    setenv("HAKOBI_RANKS_PER_NODE", "2", 1);
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    const Topology topology = Topology::discover(comm);
    EXPECT_EQ(topology.num_nodes(), (comm.size() + 1) / 2);
    EXPECT_EQ(topology.node_of(comm.rank()), comm.rank() / 2);
    Reordering made = topology.reorder(std::vector<int>{comm.size()});
    std::reverse(made.rank_at.begin(), made.rank_at.end());
    Comm other = reordered(comm, made);
    EXPECT_EQ(made.rank_at[static_cast<std::size_t>(other.rank())], comm.rank());
    made.rank_at.pop_back();
    EXPECT_THROW((void)reordered(comm, made), Error);
    other.free();
    comm.free();
}

}  // namespace
}  // namespace hakobi
