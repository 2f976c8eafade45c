// Pieces that somebody made up: every checksum is right, what they say is not.
#include "series/piece.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <hakobi/gather.hpp>
#include <limits>

namespace hakobi::series {
namespace {

namespace fs = std::filesystem;
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

class CraftedPiece : public testing::Test {
  protected:
    void SetUp() override {
        const std::string test = testing::UnitTest::GetInstance()->current_test_info()->name();
        folder_ = testing::TempDir() + "hakobi_piece_" + std::to_string(::getpid()) + "_" + test;
        fs::create_directories(pieces_folder(step_path()));
    }
    void TearDown() override { fs::remove_all(folder_); }

    [[nodiscard]] std::string step_path() const { return folder_ + "/run_000000.nc"; }
    [[nodiscard]] std::string path(int rank) const { return piece_path(pieces_folder(step_path()), rank); }

    /// A piece whose bytes go to `regions` of a file of `file_bytes`, with `num_bytes` of values.
    void write(const std::vector<Region>& regions, int num_ranks = 1, std::int64_t num_bytes = 0,
               std::int64_t file_bytes = 4096) {
        const std::vector<std::byte> values(static_cast<std::size_t>(num_bytes));
        Step step;
        step.description.time_units = "s";
        step.layout.file_bytes = file_bytes;
        for (const Region& region : regions) {
            step.parts.push_back({region, Region()});
        }
        if (num_bytes > 0) {
            const auto address = static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(values.data()));
            step.parts[0].memory = Region::contiguous(address, num_bytes);
        }
        fs::remove(path(0));
        ASSERT_TRUE(write_piece(path(0), step, 0, num_ranks, false).ok());
    }
    /// Neither read_piece nor gathering takes the piece, and both say `why`.
    void expect_refused(const std::string& why) {
        const Result<Piece> piece = read_piece(path(0));
        ASSERT_FALSE(piece.ok());
        EXPECT_EQ(piece.status().code(), ErrorCode::format);
        EXPECT_NE(piece.status().text().find(why), std::string::npos) << piece.status().text();
        expect_incomplete(why);
    }
    void expect_incomplete(const std::string& why) {
        const GatherResult result = gather_pieces(folder_);
        EXPECT_TRUE(result.files.empty());
        ASSERT_EQ(result.incomplete.size(), 1U);
        EXPECT_NE(result.incomplete[0].find(why), std::string::npos) << result.incomplete[0];
    }

    std::string folder_;
};

TEST_F(CraftedPiece, OfMoreRanksThanFilesIsNotLookedForRankByRank) {
    write({Region::contiguous(0, 32)}, std::numeric_limits<int>::max(), 32);
    expect_incomplete("2147483646 of 2147483647 pieces are missing (rank 1, 2, 3, 4, 5, …)");
}

TEST_F(CraftedPiece, OfNoRankIsRefused) {
    write({Region::contiguous(0, 32)}, 0, 32);
    expect_refused("rank 0 of 0");
}

TEST_F(CraftedPiece, WhoseBytesHaveNoPlaceInAFileIsRefused) {
    write({Region::contiguous(-8, 32)}, 1, 32);
    expect_refused("no place in a file");
    write({Region::strided(64, 2, -32, Region::contiguous(0, 16))}, 1, 32);
    expect_refused("no place in a file");
    write({Region::contiguous(most - 8, 32)}, 1, 32);
    expect_refused("no place in a file");
    write({Region::contiguous(4080, 32)}, 1, 32);
    EXPECT_TRUE(read_piece(path(0)).ok());
    expect_incomplete("of another step");
}

TEST_F(CraftedPiece, OfAFileThatNoneCanBeIsRefused) {
    write({Region::contiguous(0, 32)}, 1, 32, most);
    expect_refused("the file's size");
    write({Region::contiguous(0, 32)}, 1, 32, -1);
    expect_refused("the file's size");
}

TEST_F(CraftedPiece, WhoseValuesTogetherLeave63BitsIsTorn) {
    write(std::vector<Region>(200, Region::contiguous(0, most / 128)));
    expect_refused("torn");
}

TEST(PieceHeader, ComesBackAsItWasEncoded) {
    PieceHeader header{.rank = 2, .num_ranks = 3, .step_fingerprint = 7};
    header.description = {std::byte{1}, std::byte{2}};
    header.regions = {Region::strided(3, 4, 20, Region::contiguous(0, 5)), Region()};
    header.file_bytes = 4096;
    header.metadata = {{8, {std::byte{3}}}};
    const Result<PieceHeader> read = decode_header(encode_header(header));
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(encode_header(read.value()), encode_header(header));
    EXPECT_EQ(read.value().regions[0].num_pieces(), 4);
    EXPECT_EQ(read.value().metadata[0].offset_bytes, 8);
}

TEST(PieceHeader, WithMetadataBehindTheFilesEndIsRefused) {
    PieceHeader header{.rank = 0, .num_ranks = 1};
    header.file_bytes = 8;
    header.metadata = {{8, {std::byte{3}}}};
    EXPECT_FALSE(decode_header(encode_header(header)).ok());
}

TEST(PieceHeader, OfManyPartsInFewBytesAsksForLittleMemory) {
    std::vector<std::byte> bytes = encode_header({.rank = 0, .num_ranks = 1});
    const std::int64_t many = std::int64_t{1} << 40;
    std::memcpy(bytes.data() + 40, &many, sizeof(many));
    EXPECT_FALSE(decode_header(bytes).ok());
}

}  // namespace
}  // namespace hakobi::series
