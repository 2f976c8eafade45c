#include "base/copy_bytes.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace hakobi {
namespace {

using Copy = void (*)(std::byte*, const std::byte*, std::size_t);

class CopyWith : public testing::TestWithParam<Copy> {};

INSTANTIATE_TEST_SUITE_P(Each, CopyWith, testing::Values(&copy_bytes, &copy_past_cache));

TEST_P(CopyWith, MovesTheseBytesAndNoOthersFromAndToAnyAlignment) {
    constexpr std::size_t margin = 128;
    for (const std::size_t length : {0, 1, 15, 16, 63, 64, 65, 127, 200, 2047, 2048, 5000}) {
        std::vector<std::byte> source(length + margin);
        for (std::size_t i = 0; i < source.size(); ++i) source[i] = static_cast<std::byte>(i * 7 + i / 256);
        for (std::size_t from = 0; from < 20; from += 3) {
            for (std::size_t to = 1; to < 66; ++to) {
                std::vector<std::byte> target(length + margin, std::byte{0xa5});
                std::vector<std::byte> expected = target;
                for (std::size_t i = 0; i < length; ++i) expected[to + i] = source[from + i];
                GetParam()(target.data() + to, source.data() + from, length);
                ASSERT_EQ(target, expected) << length << " bytes from " << from << " to " << to;
            }
        }
    }
}

}  // namespace
}  // namespace hakobi
