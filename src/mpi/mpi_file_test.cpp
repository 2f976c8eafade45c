#include "mpi/mpi_file.hpp"

#include <gtest/gtest.h>

#include <numeric>

namespace hakobi::mpi {
namespace {

/// The elements of an array that a file type selects, in its order, by packing the array with it.
std::vector<std::int32_t> selected(const Block& block, std::int64_t largest_count) {
    const std::int64_t num_elements =
        std::accumulate(block.global.begin(), block.global.end(), std::int64_t{1}, std::multiplies<>());
    std::vector<std::int32_t> array(static_cast<std::size_t>(num_elements));
    std::iota(array.begin(), array.end(), 0);
    MPI_Datatype type = file_type_of(block, 4, largest_count);
    std::vector<std::int32_t> packed(static_cast<std::size_t>(block.num_elements()));
    int position = 0;
    MPI_Pack(array.data(), 1, type, packed.data(), static_cast<int>(packed.size() * 4), &position,
             MPI_COMM_SELF);
    EXPECT_EQ(position, static_cast<int>(packed.size() * 4));
    MPI_Aint lower = -1, extent = -1;
    MPI_Type_get_extent(type, &lower, &extent);
    EXPECT_EQ(lower, 0);
    EXPECT_EQ(extent, num_elements * 4);
    MPI_Type_free(&type);
    return packed;
}

TEST(FileType, OfLargeExtentsSelectsWhatSubarraySelects) {
    for (const Block& block : {Block{{50}, {7}, {31}}, Block{{9, 20}, {2, 3}, {6, 17}},
                               Block{{4, 9, 5}, {1, 0, 2}, {3, 9, 2}}, Block{{30, 2}, {0, 1}, {30, 1}}}) {
        const std::vector<std::int32_t> expected = selected(block, INT_MAX);
        for (const std::int64_t largest : {2, 3, 4, 7})
            EXPECT_EQ(selected(block, largest), expected) << largest;
    }
}

TEST(FileType, OfAnEmptyBlockIsNone) {
    EXPECT_EQ(file_type_of({{5}, {0}, {0}}, 8), MPI_DATATYPE_NULL);
}

}  // namespace
}  // namespace hakobi::mpi
