#include "device/joined_copy.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "region/copy.hpp"
#include "region/cursor.hpp"

namespace hakobi::device {
namespace {

/// Joins what a walk gives, and carries it out byte by byte.
class Copies final : public RunMover {
  public:
    bool take(const Series& series) override {
        const Copy copy{.to = series.to,
                        .from = series.from,
                        .length_bytes = series.length,
                        .num = {1, series.num},
                        .to_strides_bytes = {0, series.to_stride},
                        .from_strides_bytes = {0, series.from_stride}};
        if (!joined_.add(copy)) {
            flush();
            EXPECT_TRUE(joined_.add(copy));
        }
        return true;
    }
    int flush() {
        const Copy copy = joined_.take();
        if (copy.length_bytes > 0) ++num_;
        for (std::int64_t i = 0; i < copy.num[0]; ++i) {
            for (std::int64_t j = 0; j < copy.num[1]; ++j) {
                const std::byte* from =
                    copy.from + i * copy.from_strides_bytes[0] + j * copy.from_strides_bytes[1];
                std::copy(from, from + copy.length_bytes,
                          copy.to + i * copy.to_strides_bytes[0] + j * copy.to_strides_bytes[1]);
            }
        }
        return num_;
    }

  private:
    JoinedCopy joined_;
    int num_ = 0;
};

std::vector<std::byte> numbered(std::int64_t size) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(size));
    for (std::size_t b = 0; b < bytes.size(); ++b) bytes[b] = static_cast<std::byte>(b * 37 >> 3);
    return bytes;
}

/// Copies by the processor and by joined copies, compares, and returns how many the latter are.
int num_copies(const Region& file, const Region& memory) {
    const std::vector<std::byte> source = numbered(memory.end_bytes());
    std::vector<std::byte> expected(static_cast<std::size_t>(file.end_bytes())), window = expected;
    Copies copies;
    for (auto [to, mover] : {std::pair{&expected, static_cast<RunMover*>(nullptr)},
                             std::pair{&window, static_cast<RunMover*>(&copies)}}) {
        Cursor at_file(file), at_memory(memory);
        copy_to_window(at_file, at_memory, source.data(), file.size_bytes(), {.buffer = to->data()}, mover);
    }
    const int num = copies.flush();
    EXPECT_EQ(window, expected);
    return num;
}

Region block(std::vector<std::int64_t> global, std::vector<std::int64_t> start,
             std::vector<std::int64_t> count) {
    return Region::subarray(0, global, start, count, 8);
}

TEST(JoinedCopy, ABlockAmongGhostsIsOneCopy) {
    EXPECT_EQ(num_copies(block({9, 10, 11}, {1, 2, 3}, {4, 5, 6}), block({6, 9, 8}, {1, 2, 1}, {4, 5, 6})),
              1);
}

TEST(JoinedCopy, PlanesOfContiguousMemoryAreOneCopy) {
    EXPECT_EQ(num_copies(block({9, 10, 11}, {1, 2, 3}, {4, 5, 6}), Region::contiguous(0, 4 * 5 * 6 * 8)), 1);
}

TEST(JoinedCopy, AComponentOfInterleavedOnesIsACopyAPlane) {
    const Region component = Region::strided(16, 240, 24, Region::contiguous(0, 8));
    EXPECT_EQ(num_copies(block({9, 10, 11}, {1, 2, 3}, {8, 5, 6}), component), 8);
}

TEST(JoinedCopy, ATransposedArrayIsOneCopy) {
    const Region transposed = Region::strided(0, 5, 8, Region::strided(0, 7, 40, Region::contiguous(0, 8)));
    EXPECT_EQ(num_copies(Region::contiguous(0, 5 * 7 * 8), transposed), 1);
}

TEST(JoinedCopy, FourDimensionsAreACopyForEachOfTheSlowest) {
    EXPECT_EQ(num_copies(block({5, 9, 10, 11}, {1, 1, 2, 3}, {3, 4, 5, 6}),
                         block({5, 6, 9, 8}, {1, 1, 2, 1}, {3, 4, 5, 6})),
              3);
}

TEST(JoinedCopy, AnotherFieldIsAnotherCopy) {
    const Region one = block({6, 9}, {1, 1}, {4, 5}), other = block({6, 9}, {1, 1}, {3, 5});
    const std::vector<Region::Part> in_file = {{0, one}, {2000, other}}, in_memory = {{0, one}, {777, other}};
    EXPECT_EQ(num_copies(Region::concatenated(in_file), Region::concatenated(in_memory)), 2);
}

// Whatever a walk gives, in any order, backward too.
TEST(JoinedCopy, AnySeriesAreCopiedAsByTheProcessor) {
    std::mt19937 random(5);
    const auto draw = [&](int from, int to) { return std::uniform_int_distribution<>(from, to)(random); };
    for (int i = 0; i < 2000; ++i) {
        const std::vector<std::byte> source = numbered(4000);
        std::vector<std::byte> expected(8000), found = expected;
        Copies copies;
        std::int64_t to = 0, length = 8, num = 1, from = draw(0, 3000), stride = 8;
        for (int s = draw(1, 12); s > 0; --s) {
            if (draw(0, 3) == 0) num = draw(1, 4);
            if (draw(0, 5) == 0) stride = draw(0, 2) * 8;
            if (draw(0, 8) == 0) length = 4 * draw(1, 3);
            if (draw(0, 4) == 0) from = draw(0, 3000);
            const RunMover::Series series{
                found.data() + to, source.data() + from, length, stride, length, num};
            for (std::int64_t n = 0; n < num; ++n)
                std::copy_n(source.data() + from + n * stride, length, expected.data() + to + n * length);
            EXPECT_TRUE(copies.take(series));
            to += num * length + draw(0, 1) * 8;
            from = std::min<std::int64_t>(3000, from + num * stride);
        }
        copies.flush();
        ASSERT_EQ(found, expected) << i;
    }
}

}  // namespace
}  // namespace hakobi::device
