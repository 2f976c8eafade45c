#include "io/paths/mailbox.hpp"
#include "io/policy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace hakobi::io {
namespace {

/// A file of value_at's bytes that counts its reads.
class CountingFile final : public storage::File {
  public:
    explicit CountingFile(std::int64_t size_bytes) : bytes_(static_cast<std::size_t>(size_bytes)) {
        for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] = value_at(static_cast<std::int64_t>(i));
    }
    static std::byte value_at(std::int64_t offset) {
        return static_cast<std::byte>(offset ^ (offset >> 8) ^ (offset >> 16));
    }

    Status write_at(std::span<const std::byte>, std::int64_t) override { return {}; }
    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        ++num_reads;
        largest_read_bytes = std::max(largest_read_bytes, std::ssize(data));
        const std::int64_t there = std::clamp<std::int64_t>(std::ssize(bytes_) - offset, 0, std::ssize(data));
        std::copy_n(bytes_.begin() + std::min(offset, std::ssize(bytes_)), there, data.begin());
        return there;
    }
    Result<std::int64_t> size_bytes() override { return std::ssize(bytes_); }
    Status set_size(std::int64_t) override { return {}; }
    Status preallocate(std::int64_t) override { return {}; }
    Status sync() override { return {}; }
    Status close() override { return {}; }
    [[nodiscard]] const std::string& path() const noexcept override { return path_; }

    std::int64_t num_reads = 0, largest_read_bytes = 0;

  private:
    std::vector<std::byte> bytes_;
    std::string path_ = "counting";
};

/// Every place reads its region; each must get what the file has of it.
void expect_read(CountingFile& file, const std::vector<Region>& regions) {
    std::vector<RankPlace> places(regions.size());
    for (std::size_t r = 0; r < regions.size(); ++r) {
        ASSERT_TRUE(fits_mailbox(regions[r]));
        fill_mailbox(places[r], regions[r], {}, nullptr, false);
    }
    ASSERT_TRUE(serve_mailboxes(file, places, false).ok());
    for (std::size_t r = 0; r < regions.size(); ++r) {
        std::vector<std::byte> expected, found(static_cast<std::size_t>(regions[r].size_bytes()));
        for (Cursor at(regions[r]); !at.at_end() && at.offset() < file.size_bytes().value(); at.advance(1))
            expected.push_back(CountingFile::value_at(at.offset()));
        found.resize(static_cast<std::size_t>(
            empty_mailbox(places[r], Region::contiguous(0, std::ssize(found)), found.data())));
        EXPECT_EQ(found, expected) << "place " << r;
    }
}

TEST(Small, SparseReadsAreRightAndTakeLittleMemory) {
    CountingFile file(16 << 20);
    std::vector<Region> regions;  // the last one goes on behind the end of the file
    for (std::int64_t r = 0; r < 5; ++r)
        regions.push_back(
            Region::strided((r << 22) - r * 60'000 + 77, 64, 65'536, Region::contiguous(0, 1 + r)));
    regions.push_back(Region::contiguous(123, mailbox_bytes));
    expect_read(file, regions);
    EXPECT_LE(file.largest_read_bytes, policy_limits::most_read_run);
}

TEST(Small, NeighbouringPiecesAreOneRead) {
    CountingFile file(100'000);
    expect_read(file, {Region::strided(0, 64, 300, Region::contiguous(0, 100)),
                       Region::strided(100, 60, 300, Region::contiguous(0, 100)), Region(),
                       Region::contiguous(19'000, 5'000)});
    EXPECT_EQ(file.num_reads, 1);
}

TEST(Small, PiecesFarApartAreNotJoined) {
    CountingFile file(1'000'000);
    expect_read(file, {Region::contiguous(900'000, 1'000), Region::contiguous(0, 1'000)});
    EXPECT_EQ(file.num_reads, 2);
    EXPECT_EQ(file.largest_read_bytes, 1'000);
}

}  // namespace
}  // namespace hakobi::io
