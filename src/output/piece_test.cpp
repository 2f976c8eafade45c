// Pieces that somebody made up: every checksum is right, what they say is not.
#include "output/piece.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <hakobi/output.hpp>
#include <limits>

namespace hakobi::output {
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

    /// A piece of one field u of `block`, its array of the description `global`, with `num_bytes` of values.
    void write(const Block& block, int num_ranks = 1, std::size_t num_bytes = 0, int num_fields = 1) {
        const std::vector<std::byte> values(num_bytes);
        Step step;
        step.description.time_units = "s";
        for (int f = 0; f < num_fields; ++f) {
            step.description.fields.push_back({.name = "u" + std::to_string(f),
                                               .units = {},
                                               .long_name = {},
                                               .standard_name = {},
                                               .global = block.global});
            step.parts.push_back({block, values});
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
    write({{4}, {0}, {4}}, std::numeric_limits<int>::max(), 32);
    expect_incomplete("2147483646 of 2147483647 pieces are missing (rank 1, 2, 3, 4, 5, …)");
}

TEST_F(CraftedPiece, OfNoRankIsRefused) {
    write({{4}, {0}, {4}}, 0, 32);
    expect_refused("rank 0 of 0");
}

TEST_F(CraftedPiece, WhoseBlockLeavesItsArrayIsRefused) {
    write({{4}, {0}, {5}}, 1, 40);
    expect_refused("leaves dimension 0");
    write({{4}, {1}, {4}}, 1, 32);
    expect_refused("leaves dimension 0");
    write({{4}, {-1}, {2}}, 1, 16);
    expect_refused("leaves dimension 0");
    write({{4, 4}, {0, most}, {4, 1}}, 1, 32);
    expect_refused("leaves dimension 1");
    write({{4}, {0}, {-4}}, 1, 32);
    expect_refused("leaves dimension 0");
}

TEST_F(CraftedPiece, OfAnArrayThatNoFileHoldsIsRefused) {
    write({{most, most}, {0, 0}, {0, 0}});
    expect_refused("cannot be stored");
    write({{most / 2, 4}, {most / 2 - 1, 0}, {1, 1}}, 1, 8);
    expect_refused("cannot be stored");
    write({{0}, {0}, {0}});
    expect_refused("cannot be stored");
}

TEST_F(CraftedPiece, WhoseValuesTogetherLeave63BitsIsTorn) {
    write({{most / 128}, {0}, {most / 128}}, 1, 0, 200);
    expect_refused("torn");
}

TEST_F(CraftedPiece, OfAStepThatNoFileHoldsIsNotGathered) {
    write({{most / 128}, {0}, {0}}, 1, 0, 3);
    EXPECT_TRUE(read_piece(path(0)).ok());
    expect_incomplete("too large for a file");
}

TEST(PieceHeader, ComesBackAsItWasEncoded) {
    PieceHeader header{.rank = 2, .num_ranks = 3, .step_fingerprint = 7};
    header.description = {std::byte{1}, std::byte{2}};
    header.blocks = {{{4, 5}, {1, 2}, {3, 0}}, {{6}, {0}, {6}}};
    header.types = {0, 3};
    const Result<PieceHeader> read = decode_header(encode_header(header));
    ASSERT_TRUE(read.ok()) << read.status().text();
    EXPECT_EQ(read.value().rank, 2);
    EXPECT_EQ(read.value().num_ranks, 3);
    EXPECT_EQ(read.value().description, header.description);
    EXPECT_EQ(read.value().blocks, header.blocks);
    EXPECT_EQ(read.value().types, header.types);
}

TEST(PieceHeader, OfManyFieldsInFewBytesAsksForLittleMemory) {
    PieceHeader header{.rank = 0, .num_ranks = 1};
    header.types.assign(1 << 20, 0);
    EXPECT_FALSE(decode_header(encode_header(header)).ok());
}

}  // namespace
}  // namespace hakobi::output
