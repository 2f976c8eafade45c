#include "series/receipts.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <span>

#include "base/checksum.hpp"

namespace hakobi::series {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t file_bytes = 10'001;  // no multiple of a block

class AdvanceTest : public ::testing::Test {
  protected:
    AdvanceTest() {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
        const std::string path = step_path(folder_ + "/run", 3, ".nc");
        names_ = {.part = part_path(path, 0xfeed),
                  .whole = whole_path(part_path(path, 0xfeed)),
                  .path = path,
                  .file_bytes = file_bytes};
        std::ofstream(names_.part) << std::string(static_cast<std::size_t>(file_bytes), 'v');
        auto file = storage::open_file(names_.part, {.write = true});
        write_receipt(*file.value(), {.token = 0xfeed, .file_bytes = file_bytes}, 0, 1);
    }
    ~AdvanceTest() override { fs::remove_all(folder_); }
    [[nodiscard]] FileState found(const std::string& path) const {
        return state_of(parse(path), read_receipts(path).value());
    }

    std::string folder_ = fs::temp_directory_path() / ("hakobi-advance-" + std::to_string(::getpid()));
    FileNames names_;
};

TEST_F(AdvanceTest, EachStateIsTheOneThatTheNextOpenerFinds) {
    FileState state = found(names_.part);
    EXPECT_EQ(state, FileState::stored);
    ASSERT_TRUE(advance(names_, state, FileState::whole).ok());
    EXPECT_EQ(state, found(names_.whole));
    ASSERT_TRUE(advance(names_, state, FileState::cut).ok());
    EXPECT_EQ(state, found(names_.whole));
    EXPECT_EQ(fs::file_size(names_.whole), static_cast<std::uintmax_t>(file_bytes));
    ASSERT_TRUE(advance(names_, state, FileState::named).ok());
    EXPECT_EQ(state, found(names_.path));
    EXPECT_FALSE(fs::exists(names_.whole));
}

TEST_F(AdvanceTest, AfterAnErrorItGoesOnFromWhereTheFileStands) {
    std::ofstream(names_.path) << "in the way";
    FileState state = FileState::stored;
    EXPECT_EQ(advance(names_, state, FileState::named).code(), ErrorCode::exists);
    EXPECT_EQ(state, FileState::cut);
    EXPECT_EQ(state, found(names_.whole));
    fs::remove(names_.path);
    EXPECT_TRUE(advance(names_, state, FileState::named).ok());
    EXPECT_EQ(state, FileState::named);
    EXPECT_EQ(fs::file_size(names_.path), static_cast<std::uintmax_t>(file_bytes));
}

TEST_F(AdvanceTest, AFileThatIsGoneStaysWhereItStood) {
    fs::remove(names_.part);
    FileState state = FileState::stored;
    EXPECT_EQ(advance(names_, state, FileState::named).code(), ErrorCode::not_found);
    EXPECT_EQ(state, FileState::stored);
}

/// A receipt with a right checksum, as nobody writes one: written by hand, since write_receipt cannot.
TEST_F(AdvanceTest, AReceiptOfMoreBytesThanTheFileHasIsNone) {
    constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max(), block = 4096;
    const auto receipts_with = [&](std::int64_t bytes, std::int64_t writer, std::int64_t num_writers) {
        std::array<std::byte, block> written{};
        const std::array<std::int64_t, 4> numbers = {0xfeed, bytes, writer, num_writers};
        std::memcpy(written.data(), "hkbstrd1", 8);
        std::memcpy(written.data() + 8, numbers.data(), sizeof numbers);
        const std::uint64_t check = checksum_of(std::span(written).first(40));
        std::memcpy(written.data() + 40, &check, sizeof check);
        std::ofstream file(names_.part, std::ios::binary);
        file.write(reinterpret_cast<const char*>(written.data()), block);
        file.close();
        return read_receipts(names_.part).value().num_writers;
    };
    EXPECT_EQ(receipts_with(0, 0, 1), 1);  // that is how one is written
    EXPECT_EQ(receipts_with(most, 0, 1), 0);
    EXPECT_EQ(receipts_with(most - block, most / block, most), 0);
    EXPECT_EQ(receipts_with(4096, 0, 1), 0);
    EXPECT_EQ(receipts_with(0, 1, 2), 0);
}

}  // namespace
}  // namespace hakobi::series
