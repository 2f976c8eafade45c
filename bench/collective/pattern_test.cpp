#include "pattern.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "units.hpp"

namespace hakobi::bench {
namespace {

// MPI's datatypes are made with ints.
TEST(CollectivePattern, CountsOfLargeFilesFitAnInt) {
    struct Case {
        const char* name;
        std::int64_t bytes, piece_bytes;
    };
    for (const auto& [name, bytes, piece_bytes] :
         {Case{"contiguous", 9 * gib, 1}, Case{"contiguous", 3 * gib + 5, 1}, Case{"cyclic", 20 * gib, 512},
          Case{"cyclic", 9 * gib, 3 * gib / 2}, Case{"cyclic", 9 * gib, 4096}}) {
        for (int rank = 0; rank < 2; ++rank) {
            const auto made = make_pattern(name, bytes, piece_bytes, 2, rank);
            ASSERT_TRUE(made.ok());
            const Pattern& pattern = made.value();
            std::int64_t file_bytes = pattern.element_bytes, own_bytes = pattern.element_bytes;
            for (std::size_t d = 0; d < pattern.global.size(); ++d) {
                file_bytes *= pattern.global[d];
                own_bytes *= pattern.count[d];
                EXPECT_LE(pattern.global[d], std::numeric_limits<int>::max()) << name;
            }
            EXPECT_LE(own_bytes / pattern.element_bytes, std::numeric_limits<int>::max()) << name;
            EXPECT_LE(pattern.element_bytes, std::numeric_limits<int>::max()) << name;
            EXPECT_EQ(file_bytes, pattern.file_bytes);
            EXPECT_EQ(own_bytes, pattern.files[static_cast<std::size_t>(rank)].size_bytes());
            EXPECT_GE(pattern.file_bytes, bytes * 9 / 10);
        }
    }
}

TEST(CollectivePattern, SmallPiecesAreArraysOfBytes) {
    const auto made = make_pattern("cyclic", 1 << 20, 512, 4, 3);
    ASSERT_TRUE(made.ok());
    EXPECT_EQ(made.value().element_bytes, 1);
    EXPECT_EQ(made.value().global, (std::vector<std::int64_t>{512, 2048}));
    EXPECT_EQ(made.value().start, (std::vector<std::int64_t>{0, 1536}));
}

}  // namespace
}  // namespace hakobi::bench
