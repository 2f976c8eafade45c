#include "base/crc32c.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace hakobi {
namespace {

// RFC 3720, B.4.
TEST(Crc32c, GivesTheValuesOfTheStandard) {
    EXPECT_EQ(crc32c(std::vector(32, std::byte{0})), 0x8a9136aaU);
    EXPECT_EQ(crc32c(std::vector(32, std::byte{0xff})), 0x62a8ab43U);
    EXPECT_EQ(crc32c(std::as_bytes(std::span(std::string_view("123456789")))), 0xe3069283U);
    EXPECT_EQ(crc32c({}), 0U);
}

TEST(Crc32c, OfPartsIsThatOfTheWhole) {
    std::vector<std::byte> bytes;
    for (int i = 0; i < 1000; ++i) bytes.push_back(std::byte(i * 7 % 251));
    const std::span<const std::byte> all(bytes);
    for (const std::size_t cut : {0U, 1U, 3U, 8U, 501U, 1000U})
        EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), crc32c(all)) << cut;
}

}  // namespace
}  // namespace hakobi
