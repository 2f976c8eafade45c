#include "format/chunks.hpp"

#include <gtest/gtest.h>

#include <set>

namespace hakobi::format {
namespace {

using Shape = std::vector<std::int64_t>;

TEST(ChunkGrid, CoversEveryFieldByChunksOfAMebibyteAtMost) {
    for (const Shape& global :
         {Shape{1}, Shape{131072}, Shape{131073}, Shape{1000, 1000}, Shape{1, 1, 300000},
          Shape{7, 11, 13, 17}, Shape{300, 5, 70000}, Shape{40, 40, 40, 40}}) {
        const ChunkGrid grid(global, 8);
        ASSERT_LE(grid.chunk_bytes(), ChunkGrid::most_bytes);
        std::set<Shape> starts;
        for (std::int64_t c = 0; c < grid.num_chunks(); ++c) {
            const Shape start = grid.start_of(c);
            for (std::size_t d = 0; d < global.size(); ++d) {
                ASSERT_LT(start[d], global[d]);
                ASSERT_EQ(start[d] % grid.shape()[d], 0);
            }
            ASSERT_TRUE(starts.empty() || *starts.rbegin() < start) << "not in C order";
            starts.insert(start);
        }
        std::int64_t needed = 1;
        for (std::size_t d = 0; d < global.size(); ++d)
            needed *= (global[d] + grid.shape()[d] - 1) / grid.shape()[d];
        EXPECT_EQ(grid.num_chunks(), needed);
    }
}

TEST(ChunkGrid, TakesWholeRowsWhereTheyFit) {
    EXPECT_EQ(ChunkGrid(Shape{100, 1000}, 8).shape(), (Shape{100, 1000}));
    EXPECT_EQ(ChunkGrid(Shape{100000, 100}, 8).shape()[1], 100);
    // A plane across any dimension of a cube touches a part of its chunks only.
    const Shape cube = ChunkGrid(Shape{512, 512, 512}, 4).shape();
    for (const std::int64_t length : cube) EXPECT_LT(length, 512);
}

TEST(ChunkGrid, IsThereOnlyForPackedFieldsThatAreLargerThanItsIndex) {
    FieldDescription small, large, plain;
    small.global = {2047};
    large.global = plain.global = {2048};
    small.filters.codec = large.filters.codec = filter::Codec::deflate;
    large.filters.significant_bits = small.filters.significant_bits = 10;
    EXPECT_FALSE(is_chunked(small));
    EXPECT_TRUE(is_chunked(large));
    EXPECT_FALSE(is_chunked(plain));
    EXPECT_EQ(bits_kept(small), 0);
    EXPECT_EQ(bits_kept(large), 10);
    large.type = ValueType::int64;
    EXPECT_EQ(bits_kept(large), 0);
    EXPECT_EQ(chunk_grids(std::vector{plain, large})[0].num_chunks(), 0);
}

}  // namespace
}  // namespace hakobi::format
