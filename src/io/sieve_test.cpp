#include "io/sieve.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include "region/cursor.hpp"
#include "storage/file.hpp"

namespace hakobi::io {
namespace {

constexpr std::byte old{0x5a};

class SieveTest : public testing::Test {
  protected:
    void SetUp() override {
        path_ = std::filesystem::temp_directory_path() / ("hakobi_sieve_" + std::to_string(getpid()));
    }
    void TearDown() override { std::filesystem::remove(path_); }
    storage::FilePtr open_file(std::size_t size) {
        const std::vector<char> bytes(size, static_cast<char>(old));
        std::ofstream(path_, std::ios::binary | std::ios::trunc)
            .write(bytes.data(), static_cast<std::streamsize>(size));
        storage::OpenMode mode;
        mode.write = true;
        return storage::open_file(path_, mode).value();
    }
    [[nodiscard]] std::vector<std::byte> file_bytes() const {
        std::vector<std::byte> bytes(std::filesystem::file_size(path_));
        std::ifstream(path_, std::ios::binary)
            .read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
        return bytes;
    }
    static std::vector<std::byte> random_bytes(std::int64_t num) {
        std::mt19937 random(3);
        std::vector<std::byte> bytes(static_cast<std::size_t>(num));
        for (std::byte& each : bytes) each = static_cast<std::byte>(random());
        return bytes;
    }
    // Writes the region, compares the whole file with an image, and reads it back.
    void round_trip(const Region& region, std::size_t file_size, bool may_fill_holes) {
        const storage::FilePtr file = open_file(file_size);
        const Region memory = Region::contiguous(0, region.size_bytes());
        std::vector<std::byte> data = random_bytes(region.size_bytes());
        std::vector<std::byte> image(file_size, old);
        image.resize(std::max(file_size, static_cast<std::size_t>(region.end_bytes())));
        for (Cursor at(region); !at.at_end(); at.advance(at.remaining()))
            std::copy_n(data.begin() + at.stream(), at.remaining(), image.begin() + at.offset());
        const PiecesResult written = move_by_sieving(
            {}, *file, {region, memory, data.data(), 0, region.size_bytes(), true}, may_fill_holes);
        ASSERT_TRUE(written.status.ok()) << written.status.text();
        EXPECT_EQ(written.bytes, region.size_bytes());
        EXPECT_TRUE(file_bytes() == image);
        std::vector<std::byte> back(data.size());
        const PiecesResult read =
            move_by_sieving({}, *file, {region, memory, back.data(), 0, region.size_bytes(), false}, false);
        ASSERT_TRUE(read.status.ok()) << read.status.text();
        EXPECT_EQ(read.bytes, region.size_bytes());
        EXPECT_TRUE(back == data);
    }

    std::string path_;
};

TEST_F(SieveTest, HolesKeepTheirBytes) {
    for (const bool may_fill_holes : {true, false}) {
        round_trip(Region::strided(77, 3000, 300, Region::contiguous(0, 200)), 1 << 20, may_fill_holes);
        round_trip(Region::strided(0, 3000, 300, Region::contiguous(0, 200)), 100'000, may_fill_holes);
    }
}

TEST_F(SieveTest, FewPiecesAndDenseOnesAreMovedToo) {
    round_trip(Region::strided(5, 20, 100'000, Region::contiguous(0, 200)), 1000, true);
    round_trip(Region::strided(5, 4000, 200, Region::contiguous(0, 200)), 0, true);
    const Region near_then_far[] = {Region::strided(0, 500, 64, Region::contiguous(0, 8)),
                                    Region::strided(0, 5, 1 << 20, Region::contiguous(0, 8))};
    const Region::Part parts[] = {{100, near_then_far[0]}, {1 << 20, near_then_far[1]}};
    round_trip(Region::concatenated(parts), 5000, true);
}

TEST_F(SieveTest, BeginsWithinTheRequest) {
    const storage::FilePtr file = open_file(1 << 20);
    const Region region = Region::strided(10, 5000, 100, Region::contiguous(0, 50));
    const Region memory = Region::contiguous(0, region.size_bytes());
    std::vector<std::byte> data = random_bytes(region.size_bytes());
    EXPECT_EQ(move_by_sieving({}, *file, {region, memory, data.data(), 12'345, 200'001, true}, true).bytes,
              200'001 - 12'345);
    std::vector<std::byte> image(1 << 20, old);
    for (Cursor at(region); !at.at_end(); at.advance(1)) {
        if (at.stream() >= 12'345 && at.stream() < 200'001)
            image[static_cast<std::size_t>(at.offset())] = data[static_cast<std::size_t>(at.stream())];
    }
    EXPECT_TRUE(file_bytes() == image);
}

TEST_F(SieveTest, ReadingEndsWithTheFile) {
    const storage::FilePtr file = open_file(300'025);
    const Region region = Region::strided(0, 10'000, 100, Region::contiguous(0, 50));
    const Region memory = Region::contiguous(0, region.size_bytes());
    std::vector<std::byte> back(static_cast<std::size_t>(region.size_bytes()), std::byte{1});
    const PiecesResult read =
        move_by_sieving({}, *file, {region, memory, back.data(), 0, region.size_bytes(), false}, false);
    EXPECT_TRUE(read.status.ok());
    EXPECT_EQ(read.bytes, 3000 * 50 + 25);
    EXPECT_EQ(back[static_cast<std::size_t>(read.bytes - 1)], old);
    EXPECT_EQ(back[static_cast<std::size_t>(read.bytes)], std::byte{1});
}

}  // namespace
}  // namespace hakobi::io
