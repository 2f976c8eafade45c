#include "device/rows.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

namespace hakobi::device {
namespace {

constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
std::array<std::byte, 1024> some_memory;

Copy copy_of(std::int64_t length, std::array<std::int64_t, 2> num, std::array<std::int64_t, 2> to,
             std::array<std::int64_t, 2> from) {
    return {.to = some_memory.data(),
            .from = some_memory.data(),
            .length_bytes = length,
            .num = num,
            .to_strides_bytes = to,
            .from_strides_bytes = from};
}

using Moves = std::multiset<std::pair<std::int64_t, std::int64_t>>;  // of bytes: to, from

Moves moves_of(const Copy& copy) {
    Moves moves;
    for (std::int64_t plane = 0; plane < copy.num[0]; ++plane)
        for (std::int64_t row = 0; row < copy.num[1]; ++row)
            for (std::int64_t byte = 0; byte < copy.length_bytes; ++byte)
                moves.emplace(plane * copy.to_strides_bytes[0] + row * copy.to_strides_bytes[1] + byte,
                              plane * copy.from_strides_bytes[0] + row * copy.from_strides_bytes[1] + byte);
    return moves;
}

Moves moves_of(const RowParts& parts) {
    Moves moves;
    for (std::int64_t part = 0; part < parts.num(); ++part) {
        const Rows rows = parts[part];
        for (std::int64_t plane = 0; plane < rows.num_planes; ++plane)
            for (std::int64_t row = 0; row < rows.num_rows; ++row)
                for (std::int64_t byte = 0; byte < rows.row_bytes; ++byte)
                    moves.emplace((rows.to - some_memory.data()) +
                                      (plane * rows.height[0] + row) * rows.pitch_bytes[0] + byte,
                                  (rows.from - some_memory.data()) +
                                      (plane * rows.height[1] + row) * rows.pitch_bytes[1] + byte);
    }
    return moves;
}

TEST(RowParts, CoverEveryByteOnceInWhateverOrderOfDimensions) {
    const std::vector<std::array<std::int64_t, 2>> strides{{12, 4},  {4, 12},  {48, 4}, {60, 12},
                                                           {12, 60}, {50, 12}, {5, 26}};
    for (const auto& to : strides) {
        for (const auto& from : strides) {
            for (const std::int64_t max_pitch : {std::int64_t{1}, std::int64_t{4}, std::int64_t{30}, far}) {
                for (const auto& num :
                     {std::array<std::int64_t, 2>{1, 1}, {3, 1}, {1, 3}, {3, 2}, {2, 3}, {4, 4}}) {
                    const Copy copy = copy_of(4, num, to, from);
                    EXPECT_EQ(moves_of(RowParts(copy, max_pitch)), moves_of(copy));
                }
            }
        }
    }
}

TEST(RowParts, NothingHasNone) {
    EXPECT_EQ(RowParts(copy_of(0, {2, 2}, {8, 4}, {8, 4}), far).num(), 0);
    EXPECT_EQ(RowParts(copy_of(4, {2, 0}, {8, 4}, {8, 4}), far).num(), 0);
}

TEST(RowParts, NeighboursOnBothSidesAreOneRow) {
    const RowParts parts(copy_of(4, {3, 5}, {20, 4}, {20, 4}), far);
    ASSERT_EQ(parts.num(), 1);
    EXPECT_EQ(parts[0].row_bytes, 60);
    EXPECT_EQ(parts[0].num_rows, 1);
}

TEST(RowParts, PlanesAWholeNumberOfRowsApartAreOnePart) {
    const RowParts parts(copy_of(4, {3, 5}, {20, 4}, {96, 12}), far);
    ASSERT_EQ(parts.num(), 1);
    EXPECT_EQ(parts[0].num_planes, 3);
    EXPECT_EQ(parts[0].num_rows, 5);
    EXPECT_EQ(parts[0].height, (std::array<std::int64_t, 2>{5, 8}));
}

TEST(RowParts, OtherPlanesAreOnePartEach) {
    const RowParts parts(copy_of(4, {3, 5}, {20, 4}, {100, 12}), far);  // 100 is no multiple of 12
    ASSERT_EQ(parts.num(), 3);
    EXPECT_EQ(parts[2].num_rows, 5);
}

TEST(RowParts, ADistanceAboveTheLimitHasNoRows) {
    const RowParts parts(copy_of(4, {3, 5}, {20, 4}, {32, 100}), 99);
    ASSERT_EQ(parts.num(), 5);
    EXPECT_EQ(parts[0].num_rows, 3);
    EXPECT_EQ(RowParts(copy_of(4, {1, 5}, {0, 4}, {0, 100}), 99).num(), 5);
}

}  // namespace
}  // namespace hakobi::device
