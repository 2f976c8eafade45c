#include "input/windowed.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace hakobi::input {
namespace {

TEST(ReadRegion, GivesTheSameBytesForLargeAndSmallPieces) {
    constexpr std::int64_t file_bytes = 24 << 20;
    std::vector<std::byte> content(file_bytes);
    std::mt19937 random(7);
    for (std::byte& byte : content) byte = static_cast<std::byte>(random());
    Result<storage::FilePtr> file =
        storage::open_file("memory:windowed_test", {.write = true, .create = true});
    ASSERT_TRUE(file.ok()) << file.status().text();
    ASSERT_TRUE(file.value()->write_at(content, 0).ok());
    struct Case {
        std::int64_t offset, length, stride, count;
    };
    // Dense, sparse, larger than a window in all, pieces that go straight to their place, one piece alone.
    for (const Case& c : {Case{3, 100, 130, 5000}, Case{5, 8, 40000, 500}, Case{0, 1000, 2000, 10000},
                          Case{11, 400000, 500000, 40}, Case{17, 5, 5, 1}, Case{1, 300, 17000, 900}}) {
        const Region from = Region::strided(c.offset, c.count, c.stride, Region::contiguous(0, c.length));
        for (const bool is_dense : {true, false}) {
            const Region to =
                is_dense ? Region::contiguous(0, from.size_bytes())
                         : Region::strided(7, c.count, c.length + 3, Region::contiguous(0, c.length));
            std::vector<std::byte> memory(static_cast<std::size_t>(to.end_bytes()), std::byte{0x5a});
            std::vector<std::byte> expected = memory;
            for (std::int64_t i = 0; i < c.count; ++i) {
                std::copy_n(content.begin() + c.offset + i * c.stride, c.length,
                            expected.begin() + (is_dense ? i * c.length : 7 + i * (c.length + 3)));
            }
            const Status status = read_region(*file.value(), from, memory.data(), to);
            EXPECT_TRUE(status.ok()) << status.text();
            EXPECT_TRUE(memory == expected) << c.length << " bytes every " << c.stride;
        }
    }
    const Region beyond = Region::contiguous(file_bytes - 10, 20);
    std::vector<std::byte> memory(20);
    EXPECT_EQ(read_region(*file.value(), beyond, memory.data(), Region::contiguous(0, 20)).code(),
              ErrorCode::format);
    ASSERT_TRUE(storage::remove_file("memory:windowed_test").ok());
}

}  // namespace
}  // namespace hakobi::input
