#include "format/layout.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace hakobi::format {
namespace {

/// Bytes that say where they are.
Extent extent_at(std::int64_t offset, std::int64_t length) {
    Extent extent{offset, std::vector<std::byte>(static_cast<std::size_t>(length))};
    for (std::int64_t i = 0; i < length; ++i)
        extent.bytes[static_cast<std::size_t>(i)] = static_cast<std::byte>((offset + i) % 251);
    return extent;
}

FieldDescription bytes_field(std::vector<std::int64_t> global) {
    FieldDescription field;
    field.type = ValueType::uint8;
    field.global = std::move(global);
    return field;
}

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Where the metadata are, after a look at their bytes.
Ranges kept_of(const Layout& layout) {
    Ranges kept;
    for (const Extent& extent : layout.metadata) {
        const std::int64_t length = std::ssize(extent.bytes);
        EXPECT_EQ(extent.bytes, extent_at(extent.offset_bytes, length).bytes);
        kept.emplace_back(extent.offset_bytes, extent.offset_bytes + length);
    }
    return kept;
}

TEST(Layout, LeavesOutValuesWithinAcrossAndBetweenExtents) {
    Layout layout;
    layout.metadata = {extent_at(0, 100), extent_at(100, 50), extent_at(300, 10)};
    layout.file_bytes = 400;
    layout.offsets_bytes = {90, 10, 200, 0};
    const std::vector<FieldDescription> fields = {bytes_field({30}), bytes_field({2, 5}), bytes_field({50}),
                                                  bytes_field({0})};
    leave_values_out(layout, fields, {});
    EXPECT_EQ(kept_of(layout), (Ranges{{0, 10}, {20, 90}, {120, 150}, {300, 310}}));
}

TEST(Layout, LeavesOutChunksAndKeepsWhatIsBetweenThem) {
    Layout layout;
    layout.metadata = {extent_at(0, 60)};
    layout.file_bytes = 60;
    layout.offsets_bytes = {0};
    layout.chunk_offsets_bytes = {{40, 10}};
    const std::vector<std::vector<StoredChunk>> chunks = {{{.bytes = 20}, {.bytes = 5}}};
    leave_values_out(layout, std::vector{bytes_field({1000})}, chunks);
    EXPECT_EQ(kept_of(layout), (Ranges{{0, 10}, {15, 40}}));
}

TEST(Layout, ChangesTheTimeAndNoOtherByte) {
    Layout layout;
    layout.metadata = {extent_at(0, 40), extent_at(64, 40)};
    const std::vector<Extent> before = layout.metadata;
    set_time(layout, 2.5);  // it has none
    EXPECT_EQ(layout.metadata[1].bytes, before[1].bytes);
    layout.time_offset_bytes = 96;
    set_time(layout, 2.5);
    EXPECT_EQ(layout.metadata[0].bytes, before[0].bytes);
    double time = 0;
    std::memcpy(&time, layout.metadata[1].bytes.data() + 32, sizeof time);
    EXPECT_EQ(time, 2.5);
    EXPECT_TRUE(
        std::equal(before[1].bytes.begin(), before[1].bytes.begin() + 32, layout.metadata[1].bytes.begin()));
}

}  // namespace
}  // namespace hakobi::format
