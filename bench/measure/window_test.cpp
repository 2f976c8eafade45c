#include "measure/window.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hakobi::measure {
namespace {

BufferWindow window_of(std::int64_t bytes, bool huge_pages = false) {
    auto window = BufferWindow::create({.bytes = bytes, .huge_pages = huge_pages});
    EXPECT_TRUE(window.ok());
    return std::move(window).value();
}

TEST(BufferWindow, NeverReusesACacheLineWithinAWindow) {
    BufferWindow window = window_of(std::int64_t{1} << 20);
    for (std::int64_t bytes : {0, 1, 64, 100, 128, 129, 1000, 4096, 65536, 65537, 524288, 1 << 20}) {
        const std::int64_t slots = window.num_slots(bytes);
        ASSERT_GT(slots, 0) << bytes;
        std::set<std::int64_t> lines;
        for (std::int64_t visit = 0; visit < slots; ++visit) {
            const std::int64_t offset = window.offset_of_visit(bytes, visit);
            ASSERT_GE(offset, 0);
            ASSERT_LE(offset + bytes, std::int64_t{1} << 20) << bytes;
            ASSERT_EQ(offset % 128, 0);
            for (std::int64_t line = offset / 128; line < (offset + bytes + 127) / 128; ++line) {
                ASSERT_TRUE(lines.insert(line).second) << bytes << " bytes, visit " << visit;
            }
        }
        EXPECT_EQ(window.offset_of_visit(bytes, slots), window.offset_of_visit(bytes, 0));
    }
}

TEST(BufferWindow, VisitsAWholeWindowBeforeItComesBack) {
    BufferWindow window = window_of(std::int64_t{1} << 20);
    EXPECT_EQ(window.num_slots(128), (1 << 20) / 128);
    EXPECT_EQ(window.num_slots(129), (1 << 20) / 256);
    EXPECT_EQ(window.num_slots((1 << 20) - 5), 1);
    EXPECT_EQ(window.num_slots((1 << 20) + 1), 0);
}

TEST(BufferWindow, NeighboursInTimeAreNotNeighboursInMemory) {
    BufferWindow window = window_of(std::int64_t{8} << 20);
    for (std::int64_t visit = 0; visit < 1000; ++visit) {
        const std::int64_t step =
            std::abs(window.offset_of_visit(64, visit + 1) - window.offset_of_visit(64, visit));
        EXPECT_GT(step, 4096);
    }
}

TEST(BufferWindow, IsWritableToItsLastByteAndTellsTheFirstTouch) {
    for (bool huge_pages : {false, true}) {
        BufferWindow window = window_of(5'000'000, huge_pages);
        EXPECT_GE(window.bytes().size(), 5'000'000U);
        window.bytes().front() = std::byte{1};
        window.bytes().back() = std::byte{2};
        EXPECT_GT(window.first_touch_s(), 0);
        EXPECT_LE(window.huge_page_bytes(), static_cast<std::int64_t>(window.bytes().size()));
        EXPECT_TRUE(huge_pages || window.huge_page_bytes() == 0);
        BufferWindow moved = std::move(window);
        EXPECT_EQ(moved.bytes().back(), std::byte{2});
    }
}

TEST(BufferWindow, RefusesWhatCannotBe) {
    EXPECT_EQ(BufferWindow::create({.bytes = 0}).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(BufferWindow::create({.bytes = -1}).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(BufferWindow::create({.bytes = std::int64_t{1} << 60}).status().code(),
              ErrorCode::out_of_memory);
}

}  // namespace
}  // namespace hakobi::measure
