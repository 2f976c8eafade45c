#include <gtest/gtest.h>
#include <zstd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>

#include "filter/codec.hpp"
#include "filter/round.hpp"
#include "filter/shuffle.hpp"

namespace hakobi::filter {
namespace {

std::vector<std::byte> random_bytes(std::size_t num) {
    std::mt19937 random(7);
    std::vector<std::byte> bytes(num);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    return bytes;
}

TEST(Shuffle, PutsTheSameBytesOfAllElementsTogetherAndBack) {
    for (const std::size_t width : {1, 2, 3, 4, 8, 16}) {
        for (const std::size_t num : {0, 1, 15, 16, 17, 32, 1003}) {
            for (const std::size_t rest : {std::size_t{0}, width - 1}) {
                const std::vector<std::byte> values = random_bytes(num * width + rest);
                std::vector<std::byte> shuffled(values.size()), back(values.size());
                shuffle(values, static_cast<std::int64_t>(width), shuffled);
                for (std::size_t i = 0; i < num * width; ++i)
                    ASSERT_EQ(shuffled[i % width * num + i / width], values[i]) << width << " " << num;
                unshuffle(shuffled, static_cast<std::int64_t>(width), back);
                EXPECT_EQ(back, values) << width << " " << num;
            }
        }
    }
}

template <class Value>
void expect_rounded(int most_bits) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<Value> mantissas(-2, 2);
    std::uniform_int_distribution<int> exponents(-40, 40);
    std::vector<Value> values;
    for (int i = 0; i < 5000; ++i) values.push_back(std::ldexp(mantissas(random), exponents(random)));
    for (int bits = 1; bits <= most_bits; ++bits) {
        std::vector<Value> rounded = values;
        round_bits(std::span(rounded), bits);
        for (std::size_t i = 0; i < values.size(); ++i) {
            ASSERT_LE(std::abs(rounded[i] - values[i]), std::ldexp(std::abs(values[i]), -bits - 1)) << bits;
            const Value kept = std::ldexp(rounded[i], bits - std::ilogb(rounded[i]));
            ASSERT_EQ(kept, std::round(kept)) << bits;
        }
    }
}

TEST(RoundBits, KeepsTheBoundAndNoMoreBits) {
    expect_rounded<double>(bits_of_double);
    expect_rounded<float>(bits_of_float);
}

TEST(RoundBits, LeavesWhatIsNoNumberOrWouldBecomeNone) {
    const double infinity = std::numeric_limits<double>::infinity(),
                 most = std::numeric_limits<double>::max();
    const double nan = std::numeric_limits<double>::quiet_NaN(), fill = 9.96921e36;
    std::vector<double> values = {infinity, -infinity, nan, most, -most, 0.0, -0.0, fill};
    round_bits(std::span(values), 4, &fill);
    EXPECT_EQ(values[0], infinity);
    EXPECT_EQ(values[1], -infinity);
    EXPECT_TRUE(std::isnan(values[2]));
    EXPECT_EQ(values[3], most);
    EXPECT_EQ(values[4], -most);
    EXPECT_EQ(values[5], 0.0);
    EXPECT_TRUE(std::signbit(values[6]));
    EXPECT_EQ(values[7], fill);
}

/// A chunk as it is stored, in memory of its own.
struct Stored {
    std::vector<std::byte> bytes;
    std::uint32_t skipped = 0;
};

Stored stored_by(Coder& coder, const Filters& filters, Element element, std::int64_t element_bytes,
                 std::span<std::byte> values) {
    std::vector<std::byte> room(static_cast<std::size_t>(most_encoded_bytes(std::ssize(values))));
    const Encoded encoded = coder.encode(filters, element, element_bytes, values, room).value();
    return {{encoded.bytes.begin(), encoded.bytes.end()}, encoded.skipped};
}

class EveryCodec : public ::testing::TestWithParam<std::string> {
  protected:
    Filters filters = parse_filters(GetParam(), 0).value();
    Coder coder;
};

TEST_P(EveryCodec, PacksChunksOfChangingSizesAndUnpacksThem) {
    for (const std::size_t num : {1, 100, 70000, 2}) {
        std::vector<std::int64_t> numbers(num);
        std::iota(numbers.begin(), numbers.end(), 5000);
        const std::span<std::byte> values = std::as_writable_bytes(std::span(numbers));
        const std::vector<std::byte> before(values.begin(), values.end());
        const Stored stored = stored_by(coder, filters, Element::other, 8, values);
        EXPECT_EQ(stored.skipped != 0, num < 100) << num;
        std::vector<std::byte> shuffled(values.size()), back(values.size());
        if (stored.skipped != 0) {
            shuffled = stored.bytes;
        } else {
            EXPECT_LT(stored.bytes.size(), values.size());
            ASSERT_TRUE(coder.unpack(filters.codec, stored.bytes, shuffled).ok());
        }
        unshuffle(shuffled, 8, back);
        EXPECT_EQ(back, before);
    }
}

TEST_P(EveryCodec, PacksNoisyValuesAndUnpacksThemToTheSameBits) {
    std::mt19937 random(11);
    for (const double noise : {1e-12, 1e-6, 1e-2}) {  // packed to less than a third, and to more
        std::vector<double> numbers(40000);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const double x = static_cast<double>(i) / 5000;
            numbers[i] = i % 3 == 0 ? std::sin(x) + noise * std::ldexp(random(), -32) : 0;
        }
        const std::vector<double> before = numbers;
        const std::span<std::byte> values = std::as_writable_bytes(std::span(numbers));
        const Stored stored = stored_by(coder, filters, Element::float64, 8, values);
        ASSERT_EQ(stored.skipped, 0u) << noise;
        std::vector<std::byte> shuffled(before.size() * 8), back(shuffled.size());
        ASSERT_TRUE(coder.unpack(filters.codec, stored.bytes, shuffled).ok()) << noise;
        unshuffle(shuffled, 8, back);
        EXPECT_EQ(std::memcmp(back.data(), before.data(), back.size()), 0) << noise;
        Coder another;
        EXPECT_EQ(stored.bytes, stored_by(another, filters, Element::float64, 8, values).bytes);
    }
}

TEST_P(EveryCodec, LeavesOutItselfWhereItSavesNothing) {
    std::vector<std::byte> values = random_bytes(10000);
    const std::vector<std::byte> before = values;
    const Stored of_bytes = stored_by(coder, filters, Element::other, 1, values);
    EXPECT_EQ(of_bytes.skipped, 1u);
    EXPECT_EQ(of_bytes.bytes, before);
    const Stored of_words = stored_by(coder, filters, Element::other, 4, values);
    EXPECT_EQ(of_words.skipped, 2u);
    EXPECT_EQ(of_words.bytes.size(), before.size());
}

TEST_P(EveryCodec, TellsADamagedChunk) {
    std::vector<std::byte> values(5000, std::byte{3});
    const Stored stored = stored_by(coder, filters, Element::other, 1, values);
    std::vector<std::byte> longer(5001);
    EXPECT_EQ(coder.unpack(filters.codec, stored.bytes, longer).code(), ErrorCode::format);
    EXPECT_EQ(coder.unpack(filters.codec, std::span(longer).first(10), values).code(), ErrorCode::format);
    EXPECT_TRUE(coder.unpack(filters.codec, stored.bytes, values).ok());
}

INSTANTIATE_TEST_SUITE_P(Filters, EveryCodec,
                         ::testing::Values("deflate:1", "deflate:9", "zstd:1", "zstd:3", "zstd:19"));

/// The size that zstd gives shuffled values at a level, with the level's own parameters.
std::size_t bytes_by_level(int level, std::span<const double> values) {
    const std::span<const std::byte> bytes = std::as_bytes(values);
    std::vector<std::byte> shuffled(bytes.size()), packed(ZSTD_compressBound(bytes.size()));
    shuffle(bytes, 8, shuffled);
    return ZSTD_compress(packed.data(), packed.size(), shuffled.data(), shuffled.size(), level);
}

TEST(Zstd, KeepsTheSizeOfItsLevelForNoiseAndForRepeats) {
    std::mt19937 random(7);
    for (const double noise : {0.0, 1e-8, 1e-3, 1.0}) {
        std::vector<double> numbers(64 * 64 * 32);
        for (std::size_t i = 0; i < numbers.size(); ++i) {
            const auto [x, y, z] = std::array{i / 2048, i / 32 % 64, i % 32};
            const double smooth =
                std::sin(0.1 * static_cast<double>(x)) * std::cos(0.1 * static_cast<double>(y));
            numbers[i] = 280 + smooth + 0.2 * static_cast<double>(z) + noise * std::ldexp(random(), -32);
        }
        Coder coder;
        const std::size_t stored = stored_by(coder, parse_filters("zstd", 0).value(), Element::float64, 8,
                                             std::as_writable_bytes(std::span(numbers)))
                                       .bytes.size();
        EXPECT_LT(static_cast<double>(stored), 1.01 * static_cast<double>(bytes_by_level(3, numbers)))
            << noise;
    }
}

TEST(Filters, AreReadAsTheUserWritesThem) {
    const auto read = [](std::string_view text, int bits = 0) { return parse_filters(text, bits); };
    EXPECT_EQ(read("none").value(), Filters());
    EXPECT_EQ(read("deflate").value(), (Filters{Codec::deflate, 1, 0}));
    EXPECT_EQ(read("deflate:9", 7).value(), (Filters{Codec::deflate, 9, 7}));
    EXPECT_EQ(read("zstd").value(), (Filters{Codec::zstd, 3, 0}));
    for (const char* wrong :
         {"", "gzip", "deflate:", "deflate:0", "deflate:10", "zstd:23", "zstd:x", "none:1", "zstd:3 "})
        EXPECT_EQ(read(wrong).status().code(), ErrorCode::invalid_argument) << wrong;
    EXPECT_NE(read("zsdt").status().text().find("did you mean 'zstd'"), std::string::npos);
    EXPECT_EQ(read("zstd", 53).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(read("zstd", -1).status().code(), ErrorCode::invalid_argument);
    EXPECT_EQ(read("none", 5).status().code(), ErrorCode::invalid_argument);
}

TEST(Filters, OfAFieldStandInThePlaceOfTheOutputs) {
    const Filters others{Codec::zstd, 5, 12};
    EXPECT_EQ(parse_filters("", 0, others).value(), others);
    EXPECT_EQ(parse_filters("", 52, others).value(), (Filters{Codec::zstd, 5, 52}));
    EXPECT_EQ(parse_filters("deflate:2", 0, others).value(), (Filters{Codec::deflate, 2, 12}));
    EXPECT_EQ(parse_filters("none", 0, others).value(), Filters());
    EXPECT_FALSE(parse_filters("none", 3, others).ok());
    EXPECT_FALSE(parse_filters("", 3, Filters()).ok());
}

TEST(Filters, FromElsewhereAreChecked) {
    EXPECT_TRUE(is_valid({}));
    EXPECT_TRUE(is_valid({Codec::zstd, 22, 52}));
    EXPECT_FALSE(is_valid({static_cast<Codec>(3), 1, 0}));
    EXPECT_FALSE(is_valid({Codec::deflate, 10, 0}));
    EXPECT_FALSE(is_valid({Codec::deflate, 0, 0}));
    EXPECT_FALSE(is_valid({Codec::none, 0, -1}));
}

}  // namespace
}  // namespace hakobi::filter
