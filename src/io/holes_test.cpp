#include "io/holes.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace hakobi::io {
namespace {

constexpr std::int64_t file_begin = 1000;
constexpr storage::ServiceCosts::Cost disk{2e-3, 2e-9}, memory{1.5e-6, 0.4e-9};

struct Buffer {
    std::int64_t num_bytes;
    std::vector<std::uint64_t> words;
    ByteMarks marks;
    explicit Buffer(std::int64_t bytes)
        : num_bytes(bytes),
          words(static_cast<std::size_t>(ByteMarks::num_words(bytes))),
          marks(words.data(), bytes) {}
    Buffer& every(std::int64_t stride, std::int64_t length, std::int64_t from = 0) {
        for (std::int64_t at = from; at + length <= num_bytes; at += stride) marks.mark(at, length);
        return *this;
    }
};

TEST(HolesOfAWrite, AreFilledWhereAnAccessForEachRunCostsMore) {
    Buffer buffer(1 << 20);
    buffer.every(1040, 1024);
    const auto extents = extents_of(buffer.marks, file_begin, {true, disk, disk});
    ASSERT_EQ(extents.size(), 1U);
    EXPECT_TRUE(extents[0].has_holes);
    EXPECT_EQ(extents[0].file_bytes, file_begin + extents[0].buffer_bytes);
}

TEST(HolesOfAWrite, AreLeftAloneWhereNobodyMayFillThem) {
    Buffer buffer(1 << 16);
    buffer.every(1024, 512);
    const auto extents = extents_of(buffer.marks, file_begin, {false, disk, disk});
    EXPECT_EQ(extents.size(), 64U);
    for (const auto& extent : extents) EXPECT_FALSE(extent.has_holes);
}

TEST(HolesOfAWrite, AreLeftAloneWhereReadingThemCostsMore) {
    Buffer buffer(4 << 20);
    buffer.every(512 << 10, 64 << 10);
    EXPECT_EQ(extents_of(buffer.marks, file_begin, {true, memory, memory}).size(), 8U);
}

TEST(HolesOfAWrite, AreReadOnlyBetweenRunsThatAreNear) {
    Buffer buffer(8 << 20);
    buffer.every(64, 32);
    Buffer sparse(8 << 20);
    for (std::int64_t at = 0; at < 4096; at += 64) sparse.marks.mark(at, 32);
    for (std::int64_t at = 7 << 20; at < (7 << 20) + 4096; at += 64) sparse.marks.mark(at, 32);
    EXPECT_EQ(extents_of(buffer.marks, 0, {true, disk, disk}).size(), 1U);
    const auto extents = extents_of(sparse.marks, 0, {true, disk, disk});
    ASSERT_EQ(extents.size(), 2U);
    EXPECT_LT(extents[0].length_bytes, 4097);
    EXPECT_LT(extents[1].length_bytes, 4097);
}

TEST(HolesOfAWrite, OneRunIsWrittenAsItIs) {
    Buffer buffer(4096);
    buffer.marks.mark(100, 200);
    const auto extents = extents_of(buffer.marks, 0, {true, disk, disk});
    ASSERT_EQ(extents.size(), 1U);
    EXPECT_FALSE(extents[0].has_holes);
    EXPECT_EQ(extents[0].length_bytes, 200);
}

TEST(MarkedHoles, GiveTheRunsOfAnExtentAlone) {
    Buffer buffer(1024);
    buffer.every(64, 16);
    std::vector<std::byte> bytes(1024);
    const MarkedHoles holes(buffer.marks, bytes.data());
    std::vector<storage::Extent> runs;
    holes.append_runs({128, file_begin + 128, 144, true}, runs);
    ASSERT_EQ(runs.size(), 3U);
    EXPECT_EQ(runs[0].buffer_bytes, 128);
    EXPECT_EQ(runs[2].file_bytes, file_begin + 256);
}

}  // namespace
}  // namespace hakobi::io
