#include <gtest/gtest.h>
#include <hakobi/comm.hpp>
// After mpi.h, so that hakobi_comm_duplicate is there.
#include <hakobi.h>

#include <array>
#include <numeric>
#include <string>
#include <vector>

namespace {

class ExchangeCApi : public testing::Test {
  protected:
    void SetUp() override { ASSERT_EQ(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm), HAKOBI_OK); }
    void TearDown() override { EXPECT_EQ(hakobi_comm_free(comm), HAKOBI_OK); }
    hakobi_comm* comm = nullptr;
};

TEST_F(ExchangeCApi, SendsAListAlongTheRingInOtherPieces) {
    const int rank = hakobi_comm_rank(comm), size = hakobi_comm_size(comm);
    hakobi_buffer_arrays* arrays = nullptr;
    auto options = HAKOBI_INIT(hakobi_buffer_arrays_options);
    options.path = "cmaa";
    EXPECT_EQ(hakobi_buffer_arrays_get(comm, &options, &arrays), HAKOBI_INVALID_ARGUMENT);
    ASSERT_EQ(hakobi_buffer_arrays_get(comm, nullptr, &arrays), HAKOBI_OK) << hakobi_error_text();
    EXPECT_NE(hakobi_buffer_arrays_path_to(arrays, 0), nullptr);
    EXPECT_EQ(hakobi_buffer_arrays_path_to(arrays, size), nullptr);

    std::vector<int> sent(3000), received(3000, -1);
    std::iota(sent.begin(), sent.end(), 10000 * rank);
    hakobi_buffer_array *out = nullptr, *in = nullptr;
    ASSERT_EQ(hakobi_buffer_array_make(arrays, &out), HAKOBI_OK);
    ASSERT_EQ(hakobi_buffer_array_make(arrays, &in), HAKOBI_OK);
    hakobi_buffer_arrays_free(arrays);
    EXPECT_EQ(hakobi_buffer_array_append(out, sent.data(), -4), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_buffer_array_append(out, sent.data(), 8000), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_append(out, sent.data() + 2000, 4000), HAKOBI_OK);
    for (int i = 0; i < 3; ++i)
        EXPECT_EQ(hakobi_buffer_array_append(in, received.data() + 1000L * i, 4000), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_bytes(in), 12000);
    EXPECT_EQ(hakobi_buffer_array_send(out, size, 0), HAKOBI_INVALID_ARGUMENT);
    ASSERT_EQ(hakobi_buffer_array_send(out, (rank + 1) % size, 7), HAKOBI_OK);
    ASSERT_EQ(hakobi_buffer_array_receive(in, (rank + size - 1) % size, 7), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_wait(in), HAKOBI_OK) << hakobi_error_text();
    EXPECT_EQ(hakobi_buffer_array_wait(out), HAKOBI_OK);
    int is_done = 0;
    EXPECT_EQ(hakobi_buffer_array_done(in, &is_done), HAKOBI_OK);
    EXPECT_EQ(is_done, 1);
    EXPECT_EQ(received.front(), 10000 * ((rank + size - 1) % size));
    EXPECT_EQ(received.back(), received.front() + 2999);
    EXPECT_EQ(hakobi_buffer_array_release(in), HAKOBI_OK);
    EXPECT_EQ(hakobi_buffer_array_bytes(in), 0);
    hakobi_buffer_array_free(in);
    hakobi_buffer_array_free(out);
}

TEST_F(ExchangeCApi, PutsRanksOfANodeBesideEachOther) {
    const std::array<int, 8> nodes{0, 1, 0, 1, 0, 1, 0, 1};
    const std::array<int, 2> grid{2, 4};
    hakobi_topology* topology = nullptr;
    ASSERT_EQ(hakobi_topology_declare(8, nodes.data(), nullptr, &topology), HAKOBI_OK);
    EXPECT_EQ(hakobi_topology_num_ranks(topology), 8);
    EXPECT_EQ(hakobi_topology_num_nodes(topology), 2);
    EXPECT_EQ(hakobi_topology_node_of(topology, 3), 1);
    EXPECT_EQ(hakobi_topology_node_of(topology, 8), -1);
    EXPECT_EQ(hakobi_topology_socket_of(topology, 3), 0);
    std::array<int, 8> rank_at{};
    auto traffic = HAKOBI_INIT(hakobi_traffic);
    ASSERT_EQ(hakobi_topology_reorder(topology, 2, grid.data(), nullptr, nullptr, rank_at.data(), &traffic),
              HAKOBI_OK);
    EXPECT_EQ(traffic.total, 20);
    EXPECT_EQ(traffic.between_nodes_before, 12);
    EXPECT_EQ(traffic.between_nodes_after, 4);
    EXPECT_EQ(nodes[static_cast<std::size_t>(rank_at[0])], nodes[static_cast<std::size_t>(rank_at[1])]);
    EXPECT_EQ(hakobi_topology_reorder(topology, 1, grid.data(), nullptr, nullptr, rank_at.data(), nullptr),
              HAKOBI_INVALID_ARGUMENT);
    hakobi_topology_free(topology);
}

TEST_F(ExchangeCApi, NumbersRanksByTheirPlaces) {
    const int rank = hakobi_comm_rank(comm), size = hakobi_comm_size(comm);
    hakobi_topology* topology = nullptr;
    ASSERT_EQ(hakobi_topology_discover(comm, &topology), HAKOBI_OK);
    EXPECT_EQ(hakobi_topology_num_nodes(topology), 1);
    hakobi_topology_free(topology);
    std::vector<int> backwards(static_cast<std::size_t>(size));
    for (int place = 0; place < size; ++place) backwards[static_cast<std::size_t>(place)] = size - 1 - place;
    hakobi_comm* reordered = nullptr;
    ASSERT_EQ(hakobi_comm_reordered(comm, size, backwards.data(), &reordered), HAKOBI_OK);
    EXPECT_EQ(hakobi_comm_rank(reordered), size - 1 - rank);
    int mpi_rank = -1;
    MPI_Comm_rank(hakobi_comm_handle(reordered), &mpi_rank);
    EXPECT_EQ(mpi_rank, size - 1 - rank);
    EXPECT_EQ(hakobi_comm_free(reordered), HAKOBI_OK);
    EXPECT_EQ(hakobi_comm_reordered(comm, size - 1, backwards.data(), &reordered), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(reordered, nullptr);
}

}  // namespace
