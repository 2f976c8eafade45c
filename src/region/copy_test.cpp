#include "region/copy.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "drawing.hpp"

namespace hakobi {
namespace {

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
        for (ByteMarks::Run run = marks.next_run(0); run.length > 0;
             run = marks.next_run(run.from + run.length)) {
            for (std::int64_t b = run.from; b < run.from + run.length; ++b)
                seen[static_cast<std::size_t>(b)] = true;
        }
        ASSERT_EQ(seen, naive);
        marks.clear();
        ASSERT_EQ(marks.next_run(0).length, 0);
    }
}

TEST(ByteMarks, ASeriesMarksWhatItsRunsWouldOneByOne) {
    Random random(11);
    for (int i = 0; i < 300; ++i) {
        constexpr std::int64_t size = 1000;
        const std::int64_t length = draw(random, 1, 90), stride = length + draw(random, 0, 90);
        const std::int64_t from = draw(random, 0, 200), num = 1 + (size - from - length) / stride;
        std::vector<std::uint64_t> series(static_cast<std::size_t>(ByteMarks::num_words(size))),
            single = series;
        ByteMarks(series.data(), size).mark(from, length, stride, num);
        for (std::int64_t run = 0; run < num; ++run)
            ByteMarks(single.data(), size).mark(from + run * stride, length);
        ASSERT_EQ(series, single);
    }
}

TEST(ByteMarks, OnlyUnmarkedBytesAreFilled) {
    Random random(7);
    for (int i = 0; i < 3000; ++i) {
        const std::int64_t size = draw(random, 1, 700);
        std::vector<std::uint64_t> words(static_cast<std::size_t>(ByteMarks::num_words(size)));
        ByteMarks marks(words.data(), size);
        std::vector<std::byte> buffer(static_cast<std::size_t>(size), std::byte{1});
        std::vector<std::byte> expected(buffer.size(), std::byte{2});
        const std::int64_t from = draw(random, 0, size - 1), length = draw(random, 1, size - from);
        for (std::int64_t b = 0; b < size; ++b) {
            if (b < from || b >= from + length) expected[static_cast<std::size_t>(b)] = std::byte{1};
        }
        for (std::int64_t n = draw(random, 0, 40); n > 0; --n) {
            const std::int64_t at = draw(random, 0, size - 1);
            const std::int64_t run = draw(random, 0, std::min<std::int64_t>(size - at, 20));
            marks.mark(at, run);
            for (std::int64_t b = at; b < at + run; ++b) expected[static_cast<std::size_t>(b)] = std::byte{1};
        }
        const std::vector<std::byte> old(static_cast<std::size_t>(length), std::byte{2});
        marks.fill_unmarked(buffer.data(), from, length, old.data());
        ASSERT_EQ(buffer, expected) << "size " << size << ", from " << from << ", length " << length;
    }
}

Coverage sum_of(const Region& region) {
    Cursor cursor(region);
    return coverage(cursor, region.size_bytes());
}

Coverage operator+(Coverage a, const Coverage& b) {
    return {a.bytes + b.bytes, a.boundaries + b.boundaries};
}

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
    const Coverage sum = sum_of(Region::contiguous(0, 50)) + sum_of(Region::contiguous(60, 40)) +
                         sum_of(Region::contiguous(40, 10));
    EXPECT_EQ(sum.bytes, 100);
    EXPECT_NE(sum, whole_window(0, 100));
}

// A regular region of `size` bytes: pieces of one length, nested once or twice, or one run.
Region regular(Random& random, std::int64_t size) {
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = 1; length <= size; ++length) {
        if (size % length == 0) lengths.push_back(length);
    }
    const std::int64_t length = lengths[static_cast<std::size_t>(draw(random, 0, std::ssize(lengths) - 1))];
    const std::int64_t num = size / length;
    const std::int64_t stride = length + draw(random, 1, 9);
    const Region piece = Region::contiguous(draw(random, 0, 3), length);
    if (num % 2 == 0 && draw(random, 0, 1) == 0) {
        return Region::strided(0, 2, stride * num, Region::strided(0, num / 2, stride, piece));
    }
    return Region::strided(0, num, stride, piece);
}

TEST(Copy, SeriesOfPiecesMoveAsSingleBytesWould) {
    Random random(3);
    for (int i = 0; i < 3000; ++i) {
        constexpr std::int64_t size = 96;
        const Region file = regular(random, size);
        const Region memory = regular(random, size);
        std::vector<std::byte> source(static_cast<std::size_t>(memory.end_bytes()));
        for (std::size_t b = 0; b < source.size(); ++b) source[b] = static_cast<std::byte>(b);
        std::vector<std::byte> naive(static_cast<std::size_t>(file.end_bytes())), window = naive,
                                                                                  back(source.size());
        Cursor from(memory), to(file);
        for (std::int64_t b = 0; b < size; ++b, from.advance(1), to.advance(1)) {
            naive[static_cast<std::size_t>(to.offset())] = source[static_cast<std::size_t>(from.offset())];
        }
        from.seek(0);
        to.seek(0);
        Cursor of_sum(file);
        Coverage sum{0, 0};
        for (std::int64_t end = 0; end < size;) {  // in parts that end anywhere
            end = std::min(size, end + draw(random, 1, size));
            copy_to_window(to, from, source.data(), end, {window.data(), 0, nullptr});
            sum = sum + coverage(of_sum, end);
            ASSERT_EQ(to.stream(), end);
            ASSERT_EQ(from.stream(), end);
        }
        ASSERT_EQ(window, naive);
        ASSERT_EQ(sum, sum_of(file));
        std::vector<std::byte> packed(static_cast<std::size_t>(size)), unpacked(source.size());
        from.seek(0);
        for (std::int64_t begin = 0, end = 0; begin < size; begin = end) {
            end = std::min(size, begin + draw(random, 1, size));
            pack(from, source.data(), end, packed.data() + begin);
        }
        from.seek(0);
        unpack(from, unpacked.data(), size, packed.data());
        for (from.seek(0); !from.at_end(); from.advance(1)) {
            const auto at = static_cast<std::size_t>(from.offset());
            ASSERT_EQ(packed[static_cast<std::size_t>(from.stream())], source[at]);
            ASSERT_EQ(unpacked[at], source[at]);
        }
        from.seek(0);
        to.seek(0);
        copy_from_window(to, from, back.data(), size, {window.data(), 0, nullptr});
        for (from.seek(0); !from.at_end(); from.advance(1)) {
            const auto at = static_cast<std::size_t>(from.offset());
            ASSERT_EQ(back[at], source[at]);
        }
    }
}

}  // namespace
}  // namespace hakobi
