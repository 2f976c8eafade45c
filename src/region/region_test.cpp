// Every region is compared with its naive byte map: the list of offsets of all bytes in stream order.
#include "region/region.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "drawing.hpp"
#include "region/cursor.hpp"

namespace hakobi {
namespace {

using Bytes = std::vector<std::int64_t>;

struct Sample {
    Region region;
    Bytes bytes;
};

Bytes walk(const Region& region, std::int64_t from = 0) {
    Bytes bytes;
    Cursor cursor(region);
    cursor.seek(from);
    while (!cursor.at_end()) {
        for (std::int64_t i = 0; i < cursor.remaining(); ++i) bytes.push_back(cursor.offset() + i);
        cursor.advance(cursor.remaining());
    }
    return bytes;
}

Sample contiguous(std::int64_t offset, std::int64_t length) {
    Bytes bytes(static_cast<std::size_t>(length));
    std::iota(bytes.begin(), bytes.end(), offset);
    return {Region::contiguous(offset, length), bytes};
}

Sample strided(std::int64_t offset, std::int64_t count, std::int64_t stride, const Sample& element) {
    Sample result{Region::strided(offset, count, stride, element.region), {}};
    for (std::int64_t i = 0; i < count; ++i) {
        for (std::int64_t b : element.bytes) result.bytes.push_back(b + offset + i * stride);
    }
    return result;
}

// A random region up to `depth` levels; ordered ones only when asked.
Sample random_sample(Random& random, int depth, bool ordered) {
    const std::int64_t kind = depth == 0 ? 0 : draw(random, 0, 3);
    if (kind == 0) return contiguous(draw(random, -20, 40), draw(random, 0, 9));
    if (kind == 1) {
        const Sample element = random_sample(random, depth - 1, ordered);
        const std::int64_t extent = element.region.end_bytes() - element.region.begin_bytes();
        const std::int64_t stride = ordered ? extent + draw(random, 0, 5) : draw(random, -30, 30);
        return strided(draw(random, -9, 9), draw(random, 0, 5), stride, element);
    }
    if (kind == 2) {
        std::vector<std::int64_t> offsets, lengths;
        Bytes bytes;
        std::int64_t at = draw(random, -10, 10);
        for (std::int64_t i = draw(random, 0, 6); i > 0; --i) {
            offsets.push_back(ordered ? at : draw(random, -50, 50));
            lengths.push_back(draw(random, 0, 6));
            for (std::int64_t b = 0; b < lengths.back(); ++b) bytes.push_back(offsets.back() + b);
            at = offsets.back() + lengths.back() + draw(random, 0, 4);
        }
        return {Region::indexed(offsets, lengths), bytes};
    }
    std::vector<Region::Part> parts;
    Bytes bytes;
    std::int64_t at = 0;
    for (std::int64_t i = draw(random, 0, 4); i > 0; --i) {
        const Sample part = random_sample(random, depth - 1, ordered);
        const std::int64_t move = ordered ? at - part.region.begin_bytes() : draw(random, -50, 50);
        parts.push_back({move, part.region});
        for (std::int64_t b : part.bytes) bytes.push_back(b + move);
        at += part.region.end_bytes() - part.region.begin_bytes() + draw(random, 0, 4);
    }
    return {Region::concatenated(parts), bytes};
}

TEST(Region, WalksTheSameBytesAsTheNaiveMap) {
    Random random(1);
    for (int i = 0; i < 20000; ++i) {
        const Sample sample = random_sample(random, 4, i % 2 == 0);
        ASSERT_TRUE(sample.region.valid());
        ASSERT_EQ(walk(sample.region), sample.bytes) << "sample " << i;
        ASSERT_EQ(sample.region.size_bytes(), static_cast<std::int64_t>(sample.bytes.size()));
        if (sample.bytes.empty()) continue;
        ASSERT_EQ(sample.region.begin_bytes(), *std::min_element(sample.bytes.begin(), sample.bytes.end()));
        ASSERT_EQ(sample.region.end_bytes(), *std::max_element(sample.bytes.begin(), sample.bytes.end()) + 1);
        if (i % 2 == 0) {
            ASSERT_TRUE(sample.region.is_ordered()) << "sample " << i;
        }
        if (sample.region.is_ordered()) {
            ASSERT_TRUE(std::is_sorted(sample.bytes.begin(), sample.bytes.end()));
        }
    }
}

TEST(Region, SeeksSubstreamsMovesAndTravelsLikeTheNaiveMap) {
    Random random(2);
    for (int i = 0; i < 20000; ++i) {
        const Sample sample = random_sample(random, 4, i % 2 == 0);
        const auto size = static_cast<std::int64_t>(sample.bytes.size());
        if (size == 0) continue;
        const std::int64_t from = draw(random, 0, size - 1);
        const std::int64_t length = draw(random, 1, size - from);
        const Bytes expected(sample.bytes.begin() + from, sample.bytes.begin() + from + length);
        ASSERT_EQ(walk(sample.region, from), Bytes(sample.bytes.begin() + from, sample.bytes.end()));
        const Region part = sample.region.substream(from, length);
        ASSERT_EQ(walk(part), expected) << "sample " << i;
        std::vector<std::int64_t> words;
        part.moved(1000).to_words(words);
        Bytes moved = expected;
        for (auto& b : moved) b += 1000;
        ASSERT_EQ(walk(Region::from_words(words)), moved);
    }
}

TEST(Region, CountsBytesBelowAnOffsetOfOrderedRegions) {
    Random random(3);
    for (int i = 0; i < 5000; ++i) {
        const Sample sample = random_sample(random, 4, true);
        for (std::int64_t offset = -60; offset < 200; offset += 3) {
            const auto below =
                std::count_if(sample.bytes.begin(), sample.bytes.end(), [&](auto b) { return b < offset; });
            ASSERT_EQ(sample.region.bytes_below(offset), below) << "sample " << i << " offset " << offset;
        }
    }
}

TEST(Region, SubarrayIsTheBlockOfTheArray) {
    Random random(4);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::int64_t> global, start, count;
        for (std::int64_t d = draw(random, 1, 4); d > 0; --d) {
            global.push_back(draw(random, 1, 6));
            start.push_back(draw(random, 0, global.back() - 1));
            count.push_back(draw(random, 0, global.back() - start.back()));
        }
        const std::int64_t element = draw(random, 1, 3);
        Bytes expected;
        std::int64_t total = 1;
        for (auto n : global) total *= n;
        for (std::int64_t linear = 0; linear < total; ++linear) {
            std::int64_t rest = linear;
            bool inside = true;
            for (std::size_t d = global.size(); d-- > 0;) {
                const std::int64_t index = rest % global[d];
                rest /= global[d];
                inside = inside && index >= start[d] && index < start[d] + count[d];
            }
            for (std::int64_t b = 0; inside && b < element; ++b) expected.push_back(7 + linear * element + b);
        }
        ASSERT_EQ(walk(Region::subarray(7, global, start, count, element)), expected);
    }
}

TEST(Region, WholeTrailingDimensionsMerge) {
    const std::vector<std::int64_t> global{10, 20, 30}, start{2, 0, 0}, count{3, 20, 30};
    const Region region = Region::subarray(0, global, start, count, 8);
    EXPECT_TRUE(region.is_contiguous());
    EXPECT_EQ(region.size_bytes(), 3 * 20 * 30 * 8);
}

TEST(Region, CostOfQueriesDoesNotGrowWithTheNumberOfPieces) {
    const std::int64_t many = std::int64_t{1} << 40;
    const Region region = Region::strided(0, many, 1024, Region::contiguous(0, 512));
    EXPECT_EQ(region.num_pieces(), many);
    EXPECT_EQ(region.bytes_below(many / 2 * 1024), many / 2 * 512);
    EXPECT_EQ(region.substream(many, 512).size_bytes(), 512);
}

TEST(Region, LeavingTheRangeOf63BitsIsInvalid) {
    const std::int64_t big = std::int64_t{1} << 62;
    EXPECT_FALSE(Region::contiguous(big, big).valid());
    EXPECT_FALSE(Region::strided(0, 4, big, Region::contiguous(0, 8)).valid());
    EXPECT_FALSE(Region::contiguous(0, -1).valid());
    EXPECT_FALSE(Region::contiguous(big, 8).moved(big).valid());
    const std::vector<std::int64_t> global{big, big}, start{0, 0}, count{big, big};
    EXPECT_FALSE(Region::subarray(0, global, start, count, 8).valid());
}

TEST(Region, TravelsAtAnyDepthOfNesting) {
    Region region = Region::strided(0, 3, 5, Region::contiguous(0, 2));
    for (int level = 0; level < 1000; ++level) {
        const std::vector<Region::Part> parts{{0, region},
                                              {region.end_bytes() + level % 3 + 1, Region::contiguous(0, 1)}};
        region = level % 200 == 0 ? Region::strided(level, 2, region.end_bytes() + 1, region)
                                  : Region::concatenated(parts);
    }
    std::vector<std::int64_t> words;
    region.to_words(words);
    const Region travelled = Region::from_words(words);
    ASSERT_TRUE(travelled.valid());
    EXPECT_EQ(walk(travelled), walk(region));
    words.pop_back();
    EXPECT_FALSE(Region::from_words(words).valid());
}

// Words at random are an invalid region, or a valid one that travels on as it is.
TEST(Region, RefusesWordsThatNobodyWrote) {
    Random random(5);
    int num_refused = 0, num_taken = 0;
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::int64_t> words;
        for (std::int64_t n = draw(random, 0, 12); n > 0; --n) words.push_back(draw(random, -3, 6));
        const Region region = Region::from_words(words);
        ++(region.valid() ? num_taken : num_refused);
        if (!region.valid() || region.size_bytes() >= 100000) continue;
        std::vector<std::int64_t> again;
        region.to_words(again);
        EXPECT_EQ(walk(Region::from_words(again)), walk(region));
    }
    EXPECT_GT(num_refused, 15000);
    EXPECT_GT(num_taken, 100);
}

TEST(Region, RefusesWordsThatAreNoRegion) {
    const std::int64_t big = std::int64_t{1} << 62;
    const std::vector<std::vector<std::int64_t>> refused{
        {},                       // nothing at all; an empty region is the word -1
        {-2},                     // a broken region
        {4, 0, 8},                // no kind
        {0, 0},                   // contiguous without its size
        {0, 0, -8},               // a negative size
        {0, big, big},            // beyond 63 bits
        {0, 0, 8, 0},             // a word too many
        {1, 0, 3, 8},             // strided without its element
        {1, 0, -1, 8, 0, 0, 4},   // a negative count
        {1, 0, 4, big, 0, 0, 8},  // strides beyond 63 bits
        {1, 0, 3, 8, -2},         // a broken element
        {2, 0, 2, 0, 4},          // the second of two pieces is missing
        {2, 0, -1},               // a negative number of pieces
        {2, 0, big},              // more pieces than words
        {2, 0, 2, 0, 4, 8, -4},   // a piece of negative length
        {3, 0, 2, 0, 0, 4},       // the second of two parts is missing
        {3, 0, big, 0, 0, 4},     // more parts than words
        {3, 0, 2, 0, 0, 4, -2},   // a broken part
    };
    for (const std::vector<std::int64_t>& words : refused)
        EXPECT_FALSE(Region::from_words(words).valid()) << testing::PrintToString(words);
    EXPECT_TRUE(Region::from_words(std::vector<std::int64_t>{-1}).valid());
    EXPECT_TRUE(Region::from_words(std::vector<std::int64_t>{0, 0, 8}).valid());
}

}  // namespace
}  // namespace hakobi
