#include "io/copy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace hakobi::io {
namespace {

using Random = std::mt19937_64;
std::int64_t draw(Random& random, std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
}

TEST(ByteMarks, RunsAreWhatWasMarked) {
    Random random(1);
    for (int i = 0; i < 3000; ++i) {
        const std::int64_t size = draw(random, 1, 500);
        std::vector<std::uint64_t> words(static_cast<std::size_t>(ByteMarks::num_words(size)));
        ByteMarks marks(words.data(), size);
        std::vector<bool> naive(static_cast<std::size_t>(size));
        for (std::int64_t n = draw(random, 0, 6); n > 0; --n) {
            const std::int64_t from = draw(random, 0, size - 1);
            const std::int64_t length = draw(random, 0, size - from);
            marks.mark(from, length);
            for (std::int64_t b = from; b < from + length; ++b) naive[static_cast<std::size_t>(b)] = true;
        }
        std::vector<bool> seen(naive.size());
        for (ByteMarks::Run run = marks.next_run(0); run.length > 0; run = marks.next_run(run.from + run.length)) {
            for (std::int64_t b = run.from; b < run.from + run.length; ++b) seen[static_cast<std::size_t>(b)] = true;
        }
        ASSERT_EQ(seen, naive);
        marks.clear();
        ASSERT_EQ(marks.next_run(0).length, 0);
    }
}

Coverage sum_of(const Region& region) {
    Cursor cursor(region);
    return coverage(cursor, region.size_bytes());
}

Coverage operator+(Coverage a, const Coverage& b) { return {a.bytes + b.bytes, a.boundaries + b.boundaries}; }

TEST(Coverage, OfATilingIsTheWholeWindows) {
    Random random(2);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::vector<std::int64_t>> offsets(3), lengths(3);
        const std::int64_t begin = draw(random, 0, 1000);
        std::int64_t at = begin;
        for (std::int64_t n = draw(random, 1, 40); n > 0; --n) {
            const auto rank = static_cast<std::size_t>(draw(random, 0, 2));
            offsets[rank].push_back(at);
            lengths[rank].push_back(draw(random, 1, 30));
            at += lengths[rank].back();
        }
        Coverage sum;
        for (std::size_t r = 0; r < 3; ++r) sum = sum + sum_of(Region::indexed(offsets[r], lengths[r]));
        ASSERT_EQ(sum, whole_window(begin, at));
    }
}

TEST(Coverage, AHoleThatAnOverlapMakesUpForIsSeen) {
    // 100 bytes in [0, 100), but [40, 50) twice and [50, 60) not at all.
    const Coverage sum = sum_of(Region::contiguous(0, 50)) + sum_of(Region::contiguous(60, 40)) + sum_of(Region::contiguous(40, 10));
    EXPECT_EQ(sum.bytes, 100);
    EXPECT_NE(sum, whole_window(0, 100));
}

}  // namespace
}  // namespace hakobi::io
