#include "series/carrier.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace hakobi::series {
namespace {

namespace fs = std::filesystem;

/// A step on a stage that is at its place, too: a run was killed, or its system crashed, in between.
class CarriedAgain : public ::testing::Test {
  protected:
    void SetUp() override {
        char name[] = "/tmp/hakobi_test_XXXXXX";
        ASSERT_NE(mkdtemp(name), nullptr);
        folder_ = name;
        write(stage(), "bytes");
    }
    void TearDown() override { fs::remove_all(folder_); }
    [[nodiscard]] std::string stage() const { return folder_ + "/stage_000000.nc"; }
    [[nodiscard]] std::string place() const { return folder_ + "/run_000000.nc"; }
    static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
    static std::string read(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    [[nodiscard]] Status carry_again(bool sync) const {
        format::LeftStore store;
        return carry(
            {.from = stage(), .to = place(), .token = 1, .file_bytes = 5, .may_be_there = true}, sync,
            [](std::int64_t) { return true; }, store);
    }

  private:
    std::string folder_;
};

TEST_F(CarriedAgain, LeavesTheStageWhereItsCopyIsAtItsPlace) {
    for (const bool sync : {false, true}) {
        write(stage(), "bytes");
        write(place(), "bytes");
        EXPECT_TRUE(carry_again(sync).ok());
        EXPECT_FALSE(fs::exists(stage()));
        EXPECT_EQ(read(place()), "bytes");
    }
}

// As long as it should be, but the system had not stored its bytes.
TEST_F(CarriedAgain, StaysWhereOtherBytesAreAtItsPlace) {
    write(place(), std::string(5, '\0'));
    const Status status = carry_again(true);
    EXPECT_EQ(status.code(), ErrorCode::exists) << status.text();
    EXPECT_EQ(read(stage()), "bytes");
    EXPECT_EQ(read(place()), std::string(5, '\0'));
}

TEST_F(CarriedAgain, ArrivesWhereNothingIsAtItsPlace) {
    EXPECT_TRUE(carry_again(true).ok());
    EXPECT_FALSE(fs::exists(stage()));
    EXPECT_EQ(read(place()), "bytes");
}

}  // namespace
}  // namespace hakobi::series
