#include "region/gaps.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

#include "region/cursor.hpp"

namespace hakobi {
namespace {

/// The same by looking at each piece.
std::int64_t counted(const Region& region, std::int64_t most) {
    std::int64_t sum = 0, end = region.begin_bytes();
    for (Cursor cursor(region); !cursor.at_end(); cursor.advance(cursor.remaining())) {
        const std::int64_t gap = cursor.offset() - end;
        sum += cursor.remaining() + (gap <= most ? gap : 0);
        end = cursor.offset() + cursor.remaining();
    }
    return sum;
}

TEST(BytesWithGaps, AreThoseOfItsPiecesAndOfTheSmallGapsBetween) {
    EXPECT_EQ(bytes_with_gaps(Region(), 10), 0);
    EXPECT_EQ(bytes_with_gaps(Region::contiguous(7, 30), 10), 30);
    const Region pieces =
        Region::indexed(std::array<std::int64_t, 3>{0, 15, 100}, std::array<std::int64_t, 3>{10, 5, 1});
    EXPECT_EQ(bytes_with_gaps(pieces, 4), 16);
    EXPECT_EQ(bytes_with_gaps(pieces, 5), 21);
    EXPECT_EQ(bytes_with_gaps(pieces, 80), 101);
}

TEST(BytesWithGaps, OfBlocksAndOfRegionsInRegionsAreCountedWithoutLookingAtPieces) {
    std::mt19937_64 random(11);
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    for (int i = 0; i < 2000; ++i) {
        std::array<std::int64_t, 3> global{}, start{}, count{};
        for (std::size_t d = 0; d < 3; ++d) {
            global[d] = draw(1, 9);
            count[d] = draw(1, global[d]);
            start[d] = draw(0, global[d] - count[d]);
        }
        const Region block = Region::subarray(draw(0, 100), global, start, count, 4);
        const std::array<Region::Part, 2> parts = {Region::Part{0, block},
                                                   Region::Part{block.end_bytes() + draw(0, 500), block}};
        const std::int64_t most = draw(0, 400);
        for (const Region& region : {block, Region::concatenated(parts)})
            ASSERT_EQ(bytes_with_gaps(region, most), counted(region, most)) << i;
    }
}

}  // namespace
}  // namespace hakobi
