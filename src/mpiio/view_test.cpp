#include "mpiio/view.hpp"

#include <gtest/gtest.h>

#include <array>

#include "region/cursor.hpp"

namespace hakobi::mpiio {
namespace {

Layout layout(Region item, std::int64_t extent_bytes) {
    Layout result{.item = std::move(item), .extent_bytes = extent_bytes, .is_known = true};
    result.size_bytes = result.item.size_bytes();
    return result;
}

std::vector<Piece> pieces(const Region& region) {
    std::vector<Piece> all;
    for (Cursor cursor(region); !cursor.at_end(); cursor.advance(cursor.remaining())) {
        all.push_back({cursor.offset(), cursor.stream(), cursor.remaining()});
    }
    return all;
}

TEST(View, ANewFileIsAllBytes) {
    EXPECT_EQ(pieces(View().bytes(5, 10)), (std::vector<Piece>{{5, 0, 10}}));
    EXPECT_EQ(View().etype_bytes(), 1);
}

TEST(View, ADenseFileTypeIsADisplacement) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    EXPECT_EQ(pieces(View(100, word, word).bytes(8, 12)), (std::vector<Piece>{{108, 0, 12}}));
}

TEST(View, TilesFollowEachOtherByTheExtent) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    const Layout tile = layout(Region::contiguous(8, 4), 16);  // one word, behind a hole of two
    EXPECT_EQ(pieces(View(100, word, tile).bytes(4, 8)), (std::vector<Piece>{{124, 0, 4}, {140, 4, 4}}));
}

TEST(View, AnAccessMayBeginAndEndInsideATile) {
    const std::array<std::int64_t, 2> offsets = {0, 10}, lengths = {4, 6};
    const Layout byte = layout(Region::contiguous(0, 1), 1);
    const View view(0, byte, layout(Region::indexed(offsets, lengths), 20));
    EXPECT_EQ(pieces(view.bytes(2, 4)), (std::vector<Piece>{{2, 0, 2}, {10, 2, 2}}));
    EXPECT_EQ(pieces(view.bytes(12, 3)), (std::vector<Piece>{{22, 0, 2}, {30, 2, 1}}));
    EXPECT_EQ(pieces(view.bytes(5, 7)), (std::vector<Piece>{{11, 0, 5}, {20, 5, 2}}));
    EXPECT_TRUE(view.bytes(12, 0).empty());
}

TEST(View, FarPositionsCostNoMoreThanNearOnes) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    const View view(0, word, layout(Region::contiguous(0, 4), 8));
    const std::int64_t far = std::int64_t{1} << 60;
    EXPECT_EQ(pieces(view.bytes(far, 4)), (std::vector<Piece>{{2 * far, 0, 4}}));
}

TEST(View, WhatLeavesTheRangeOfOffsetsIsNotValid) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    const View view(0, word, layout(Region::contiguous(0, 4), std::int64_t{1} << 40));
    EXPECT_FALSE(view.bytes(std::int64_t{1} << 40, 4).valid());
    EXPECT_FALSE(View(INT64_MAX - 2, word, word).bytes(0, 4).valid());
}

TEST(View, OverlappingTilesAreNotOrdered) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    EXPECT_FALSE(View(0, word, layout(Region::contiguous(0, 4), 2)).bytes(0, 8).is_ordered());
}

TEST(View, AFileTypeThatIsUnknownOrEmptyGivesNoRegion) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    EXPECT_FALSE(View(0, word, Layout{}).bytes(0, 4).valid());
    EXPECT_FALSE(View(0, word, layout({}, 8)).bytes(0, 4).valid());
}

TEST(View, TheEndOfTheFileLiesBehindTheLastEtypeThatItHoldsInPart) {
    const Layout word = layout(Region::contiguous(0, 4), 4);
    const Layout tile = layout(Region::concatenated(std::array<Region::Part, 2>{
                                   {{8, Region::contiguous(0, 4)}, {16, Region::contiguous(0, 4)}}}),
                               24);
    EXPECT_EQ(View().etypes_below(40), 40);
    EXPECT_EQ(View(4, word, word).etypes_below(40), 9);
    EXPECT_EQ(View(4, word, word).etypes_below(41), 10);
    EXPECT_EQ(View(100, word, word).etypes_below(40), 0);
    const std::array<std::int64_t, 9> ends = {0, 108, 109, 112, 116, 117, 120, 132, 133};
    const std::array<std::int64_t, 9> etypes = {0, 0, 1, 1, 1, 2, 2, 2, 3};
    for (std::size_t i = 0; i < ends.size(); ++i)
        EXPECT_EQ(View(100, word, tile).etypes_below(ends[i]), etypes[i]) << ends[i];
    EXPECT_EQ(View(0, word, Layout{}).etypes_below(40), -1);
}

}  // namespace
}  // namespace hakobi::mpiio
