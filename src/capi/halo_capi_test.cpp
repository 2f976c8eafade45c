#include <gtest/gtest.h>
#include <hakobi/comm.hpp>
// After mpi.h, so that hakobi_comm_duplicate is there.
#include <hakobi.h>

#include <string>

namespace {

TEST(HaloCApi, ExchangesARingOfRanks) {
    hakobi_comm* comm = nullptr;
    ASSERT_EQ(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm), HAKOBI_OK);
    const int rank = hakobi_comm_rank(comm), size = hakobi_comm_size(comm);
    hakobi_shared* shared = nullptr;
    ASSERT_EQ(hakobi_shared_allocate(comm, 5 * 8, &shared), HAKOBI_OK);
    auto* const values = static_cast<double*>(hakobi_shared_data(shared));
    for (int i = 0; i < 5; ++i) values[i] = 10 * rank + i;
    auto grid = HAKOBI_INIT(hakobi_halo_grid);
    grid.num_dims = 1;
    grid.extents[0] = 3;
    grid.ghosts_low[0] = grid.ghosts_high[0] = 1;
    grid.ranks[0] = size;
    grid.is_periodic[0] = 1;
    auto field = HAKOBI_INIT(hakobi_halo_field);
    field.data = values + 1;
    field.element_bytes = field.strides_bytes[0] = field.component_stride_bytes = 8;
    hakobi_halo* halo = nullptr;
    ASSERT_EQ(hakobi_halo_plan(comm, &grid, 1, &field, nullptr, &halo), HAKOBI_OK) << hakobi_error_text();
    EXPECT_EQ(hakobi_halo_wait(halo), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(hakobi_halo_start(halo), HAKOBI_OK);
    EXPECT_EQ(hakobi_halo_wait(halo), HAKOBI_OK);
    EXPECT_EQ(values[0], 10 * ((rank + size - 1) % size) + 3);
    EXPECT_EQ(values[4], 10 * ((rank + 1) % size) + 1);
    EXPECT_NE(std::string(hakobi_halo_explain(halo)).find(size == 1 ? "a copy" : "direct"),
              std::string::npos);
    hakobi_halo_free(halo);

    grid.ranks[0] = size + 1;
    EXPECT_EQ(hakobi_halo_plan(comm, &grid, 1, &field, nullptr, &halo), HAKOBI_INVALID_ARGUMENT);
    EXPECT_EQ(halo, nullptr);
    grid.num_dims = 6;
    EXPECT_EQ(hakobi_halo_plan(comm, &grid, 1, &field, nullptr, &halo), HAKOBI_INVALID_ARGUMENT);
    hakobi_shared_free(shared);
    EXPECT_EQ(hakobi_comm_free(comm), HAKOBI_OK);
}

}  // namespace
