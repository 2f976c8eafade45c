#include "series/assemble.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <hakobi/block.hpp>
#include <random>

#include "region/cursor.hpp"
#include "region/region.hpp"

namespace hakobi::series {
namespace {

/// Blocks whose values are in this process.
class MemoryMembers final : public Members {
  public:
    explicit MemoryMembers(std::vector<std::vector<std::int32_t>> values)
        : values_(std::move(values)), taken_(values_.size(), 0) {}
    Status take(std::span<Request> requests) override {
        for (Request& request : requests) {
            const auto member = static_cast<std::size_t>(request.member);
            std::memcpy(request.space,
                        reinterpret_cast<const std::byte*>(values_[member].data()) + taken_[member],
                        static_cast<std::size_t>(request.length_bytes));
            taken_[member] += request.length_bytes;
            request.data = request.space;
        }
        return {};
    }

  private:
    std::vector<std::vector<std::int32_t>> values_;
    std::vector<std::int64_t> taken_;
};

/// A random cut of an array by recursive halving, so that blocks are of any shape and touch.
void cut(const Block& block, int depth, std::mt19937& random, std::vector<Block>& blocks) {
    const std::size_t d = random() % block.count.size();
    if (depth == 0 || block.count[d] < 2) {
        blocks.push_back(block);
        return;
    }
    const auto first = static_cast<std::int64_t>(1 + random() % static_cast<std::size_t>(block.count[d] - 1));
    Block low = block, high = block;
    low.count[d] = first;
    high.start[d] += first;
    high.count[d] -= first;
    cut(low, depth - 1, random, blocks);
    cut(high, depth - 1, random, blocks);
}

TEST(Assemble, PutsEveryValueAtItsPlaceForAnyCutAndBuffer) {
    constexpr std::int64_t offset_bytes = 24;
    for (unsigned seed = 0; seed < 60; ++seed) {
        std::mt19937 random(seed);
        std::vector<std::int64_t> global(1 + seed % 3);
        std::int64_t num_elements = 1;
        for (std::int64_t& extent : global)
            num_elements *= extent = static_cast<std::int64_t>(1 + random() % 40);
        std::vector<Block> blocks;
        cut({global, std::vector<std::int64_t>(global.size(), 0), global}, 4, random, blocks);
        std::shuffle(blocks.begin(), blocks.end(), random);
        if (seed % 2 == 1) blocks.pop_back();  // a hole

        std::vector<std::int32_t> expected(static_cast<std::size_t>(num_elements), 0);
        std::vector<std::vector<std::int32_t>> values;
        for (const Block& block : blocks) {
            values.emplace_back();
            const Region region = Region::subarray(0, block.global, block.start, block.count, 4);
            for (Cursor cursor(region); !cursor.at_end(); cursor.advance(4)) {
                const std::int64_t element = cursor.offset() / 4;
                values.back().push_back(static_cast<std::int32_t>(element + 1));
                expected[static_cast<std::size_t>(element)] = values.back().back();
            }
        }
        const std::string path = "memory:assemble_" + std::to_string(seed);
        Result<storage::FilePtr> file =
            storage::open_file(path, {.write = true, .create = true, .truncate = true});
        ASSERT_TRUE(file.ok()) << file.status().text();
        ASSERT_TRUE(file.value()->set_size(offset_bytes + num_elements * 4).ok());
        std::vector<std::byte> buffer(8 + random() % 5000);
        MemoryMembers members(values);
        std::vector<Region> regions;
        for (const Block& block : blocks)
            regions.push_back(Region::subarray(offset_bytes, block.global, block.start, block.count, 4));
        ASSERT_TRUE(assemble(regions, members, *file.value(), buffer).ok());
        std::vector<std::int32_t> found(expected.size());
        ASSERT_TRUE(file.value()->read_at(std::as_writable_bytes(std::span(found)), offset_bytes).ok());
        EXPECT_EQ(found, expected) << seed;
        ASSERT_TRUE(storage::remove_file(path).ok());
    }
}

}  // namespace
}  // namespace hakobi::series
