#include "mpi/mpi_file.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "region/cursor.hpp"

namespace hakobi::mpi {
namespace {

/// The bytes of an array that a datatype selects, in its order, by packing the array with it.
std::vector<std::uint8_t> selected(const Region& region, std::int64_t largest_count) {
    std::vector<std::uint8_t> array(static_cast<std::size_t>(region.end_bytes()));
    std::iota(array.begin(), array.end(), 0);
    MPI_Datatype type = datatype_of(region, largest_count);
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(region.size_bytes()));
    int position = 0;
    MPI_Pack(array.data(), 1, type, packed.data(), static_cast<int>(packed.size()), &position, MPI_COMM_SELF);
    EXPECT_EQ(position, static_cast<int>(packed.size()));
    MPI_Type_free(&type);
    return packed;
}

std::vector<std::uint8_t> walked(const Region& region) {
    std::vector<std::uint8_t> bytes;
    for (Cursor cursor(region); !cursor.at_end(); cursor.advance(1))
        bytes.push_back(static_cast<std::uint8_t>(cursor.offset()));
    return bytes;
}

TEST(DatatypeOf, SelectsWhatTheRegionNamesAlsoWhereCountsAreLarge) {
    const Region rows = Region::strided(3, 4, 40, Region::contiguous(0, 17));
    const Region cube =
        Region::subarray(24, std::vector<std::int64_t>{4, 9, 5}, std::vector<std::int64_t>{1, 0, 2},
                         std::vector<std::int64_t>{3, 9, 2}, 4);
    const Region list =
        Region::indexed(std::vector<std::int64_t>{2, 30, 50}, std::vector<std::int64_t>{4, 8, 2});
    const std::vector<Region::Part> parts{{0, list}, {100, rows}, {400, cube}};
    for (const Region& region : {Region::contiguous(9, 100), rows, cube, list, Region::concatenated(parts),
                                 Region::strided(5, 3, 1500, Region::concatenated(parts))}) {
        for (const std::int64_t largest : {INT_MAX, 2, 3, 4, 7})
            EXPECT_EQ(selected(region, largest), walked(region)) << largest;
    }
}

TEST(DatatypeOf, AnEmptyRegionIsNone) {
    EXPECT_EQ(datatype_of({}), MPI_DATATYPE_NULL);
}

}  // namespace
}  // namespace hakobi::mpi
