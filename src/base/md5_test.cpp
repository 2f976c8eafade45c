#include "base/md5.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace hakobi {
namespace {

std::string hex(std::string_view text) {
    std::string all;
    for (const std::byte byte : md5(std::as_bytes(std::span(text)))) {
        constexpr std::string_view digits = "0123456789abcdef";
        all += digits[std::to_integer<std::size_t>(byte >> 4)];
        all += digits[std::to_integer<std::size_t>(byte & std::byte{15})];
    }
    return all;
}

// RFC 1321, A.5; the lengths around a block's end by md5sum.
TEST(Md5, GivesTheValuesOfTheStandard) {
    EXPECT_EQ(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
    EXPECT_EQ(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
    EXPECT_EQ(hex("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
              "57edf4a22be3c955ac49da2e2107b67a");
    EXPECT_EQ(hex(std::string(55, 'a')), "ef1772b6dff9a122358552954ad0df65");
    EXPECT_EQ(hex(std::string(56, 'a')), "3b0c8ac703f828b04c6c197006d17218");
    EXPECT_EQ(hex(std::string(64, 'a')), "014842d480b571495a4a0363793f7367");
}

}  // namespace
}  // namespace hakobi
