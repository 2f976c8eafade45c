#include "device/copy_list.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace hakobi::device {
namespace {

constexpr std::int64_t max_pitch_bytes = (std::int64_t{1} << 31) - 1;

std::byte* address(std::uint64_t value) {
    return reinterpret_cast<std::byte*>(value);
}

Placed box(std::int64_t length_bytes, std::array<std::int64_t, 2> num = {1, 1},
           std::array<std::int64_t, 2> strides_bytes = {0, 0}) {
    return {.copy = {.to = address(0x1000),
                     .from = address(0x8000'0000),
                     .length_bytes = length_bytes,
                     .num = num,
                     .to_strides_bytes = strides_bytes,
                     .from_strides_bytes = strides_bytes},
            .is_reached = true};
}

TEST(CopyList, ManySmallCopiesAreOneLaunch) {
    const std::vector<Placed> faces(26, box(8, {32, 32}, {34 * 34 * 8, 34 * 8}));
    const Division division = divide(faces, max_pitch_bytes);
    EXPECT_TRUE(division.commands.empty());
    EXPECT_EQ(division.tiles.size(), 26U * 4);
}

TEST(CopyList, OneRunIsTheEngines) {
    for (const std::int64_t bytes : {8, 1 << 20, 1 << 30}) {
        const std::vector<Placed> one{box(bytes)};
        EXPECT_EQ(divide(one, max_pitch_bytes).commands.size(), 1U) << bytes;
    }
}

TEST(CopyList, LargeRunsToTheHostAreTheEngines) {
    std::vector<Placed> copies(26, box(512));
    copies.push_back(box(64 << 20));
    for (Placed& placed : copies) placed.is_with_host = true;
    const Division division = divide(copies, max_pitch_bytes);
    ASSERT_EQ(division.commands.size(), 1U);
    EXPECT_EQ(division.commands[0].length_bytes, 64 << 20);
    EXPECT_EQ(division.tiles.size(), 26U);
}

TEST(CopyList, WhatNoKernelReachesIsTheEngines) {
    std::vector<Placed> copies(26, box(64));
    copies[3].is_reached = false;
    const Division division = divide(copies, max_pitch_bytes);
    EXPECT_EQ(division.commands.size(), 1U);
    EXPECT_EQ(division.tiles.size(), 25U);
}

TEST(CopyList, WhatIsNotCountedIn32BitsIsTheEngines) {
    // Rows of a byte, which the engine would take ages for.
    std::vector<Placed> copies(2, box(1, {1 << 16, 1 << 15}, {1 << 17, 2}));
    copies.push_back(box(1, {1 << 16, (1 << 15) + 1}, {1 << 17, 2}));
    const Division division = divide(copies, max_pitch_bytes);
    EXPECT_EQ(division.commands.size(), 1U);
    EXPECT_EQ(division.tiles.back().end, std::uint32_t{1} << 31);
}

TEST(CopyList, NothingIsNothing) {
    const std::vector<Placed> copies{box(0), box(8, {0, 4}, {8, 8})};
    const Division division = divide(copies, max_pitch_bytes);
    EXPECT_TRUE(division.tiles.empty() && division.commands.empty());
}

TEST(CopyList, UnitsDivideAddressesDistancesAndLengths) {
    const auto unit_of = [](auto change) {
        Placed placed = box(48, {300, 200}, {1 << 20, 64});
        change(placed.copy);
        const std::vector<Placed> two(2, placed);
        return divide(two, max_pitch_bytes).tiles.at(0).unit_bytes;
    };
    EXPECT_EQ(unit_of([](Copy&) {}), 16U);
    EXPECT_EQ(unit_of([](Copy& copy) { copy.from += 8; }), 8U);
    EXPECT_EQ(unit_of([](Copy& copy) { copy.length_bytes = 44; }), 4U);
    EXPECT_EQ(unit_of([](Copy& copy) { copy.to_strides_bytes[0] += 2; }), 2U);
    EXPECT_EQ(unit_of([](Copy& copy) { copy.from_strides_bytes[1] += 1; }), 1U);
    // The distance of a single plane is none.
    EXPECT_EQ(unit_of([](Copy& copy) { copy = {copy.to, copy.from, 48, {1, 2000}, {3, 64}, {3, 64}}; }), 16U);
}

/// Every unit belongs to one tile, and tiles are as even as blocks need.
TEST(CopyList, TilesCoverEachBoxOnce) {
    for (const std::int64_t num_rows : {1, 2, 100, 5000, 40'000}) {
        const std::vector<Placed> two(2, box(24, {7, num_rows}, {std::int64_t{1} << 24, 64}));
        std::int64_t covered = 0;
        std::uint32_t end = 0;
        for (const Tile& tile : divide(two, max_pitch_bytes).tiles) {
            EXPECT_EQ(tile.first, covered % (7 * num_rows * 3) == 0 ? 0 : end);
            EXPECT_LT(tile.first, tile.end);
            end = tile.end;
            covered += tile.end - tile.first;
        }
        EXPECT_EQ(covered, 2 * 7 * num_rows * 3) << num_rows;
    }
}

}  // namespace
}  // namespace hakobi::device
