// What an opener makes of the files that a run has left under temporary names.
#include "series/unfinished.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "series/receipts.hpp"
#include "series/step_file.hpp"

namespace hakobi::series {
namespace {

namespace fs = std::filesystem;

class UnfinishedTest : public ::testing::Test {
  protected:
    static constexpr std::int64_t file_bytes = 10'001;  // no multiple of a block

    UnfinishedTest() {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
    }
    ~UnfinishedTest() override { fs::remove_all(folder_); }

    /// A step's file, or its mesh's, as a run leaves it: with receipts of `stored`, of `num_writers`.
    std::string leave(std::int64_t step, int num_writers, const std::set<int>& stored,
                      const std::string& behind = "") {
        const std::uint64_t token = 0xfeedULL + static_cast<std::uint64_t>(step);
        const std::string part = part_path(step_path(prefix_, step, ".nc") + behind, token);
        std::ofstream(part) << std::string(static_cast<std::size_t>(file_bytes), 'v');
        auto file = storage::open_file(part, {.write = true});
        for (const int writer : stored)
            write_receipt(*file.value(), {.token = token, .file_bytes = file_bytes}, writer, num_writers);
        return part;
    }
    Unfinished complete(Gaps gaps = Gaps::left) {
        Result<Unfinished> result = complete_steps(prefix_, find_series(prefix_).value(), gaps);
        EXPECT_TRUE(result.ok()) << result.status().text();
        return result.ok() ? std::move(result).value() : Unfinished();
    }
    std::string path_of(std::int64_t step) const { return step_path(prefix_, step, ".nc"); }
    static std::string bytes_of(const std::string& path) {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::string folder_ = fs::temp_directory_path() / ("hakobi-unfinished-" + std::to_string(::getpid()));
    std::string prefix_ = folder_ + "/run";
};

TEST_F(UnfinishedTest, AFileWithAllReceiptsGetsItsNameAndItsSize) {
    leave(3, 3, {2, 0, 1});
    const Unfinished done = complete();
    ASSERT_EQ(done.completed.size(), 1U);
    EXPECT_EQ(done.completed[0].step, 3);
    EXPECT_TRUE(done.lost.empty());
    EXPECT_EQ(bytes_of(path_of(3)), std::string(static_cast<std::size_t>(file_bytes), 'v'));
}

TEST_F(UnfinishedTest, AFileWithoutOneIsNamedAndStays) {
    for (const std::set<int>& stored : {std::set<int>{}, {0}, {2}, {0, 2}}) {
        const std::string part = leave(4, 3, stored);
        const Unfinished done = complete();
        EXPECT_TRUE(done.completed.empty());
        ASSERT_EQ(done.lost.size(), 1U);
        const std::string number = stored.empty() ? "none of" : std::to_string(stored.size()) + " of its 3";
        EXPECT_NE(done.lost[0].find("step 4 was not stored whole when its run ended: " + number),
                  std::string::npos)
            << done.lost[0];
        EXPECT_TRUE(fs::exists(part));
        fs::remove(part);
    }
}

TEST_F(UnfinishedTest, ReceiptsOfAnotherStepOrDamagedOnesDoNotCount) {
    const std::string part = leave(5, 1, {0});
    fs::rename(part, part_path(path_of(6), 0xabcd));  // whose token is another
    EXPECT_EQ(complete().lost.size(), 1U);
    const std::string damaged = leave(7, 2, {0, 1});
    std::fstream file(damaged, std::ios::in | std::ios::out);
    file.seekp(12'288 + 20);  // in the first receipt
    file.put('x');
    file.close();
    const Unfinished done = complete();
    EXPECT_TRUE(done.completed.empty());
    EXPECT_EQ(done.lost.size(), 2U);
}

TEST_F(UnfinishedTest, AStepBehindAGapIsCompletedWhereGapsMayBeLeft) {
    leave(1, 2, {0, 1});
    leave(2, 2, {1});
    const std::string behind = leave(3, 2, {0, 1});
    const Unfinished without = complete(Gaps::none);
    ASSERT_EQ(without.completed.size(), 1U);
    EXPECT_EQ(without.completed[0].step, 1);
    ASSERT_EQ(without.lost.size(), 2U);
    EXPECT_EQ(without.lost[1], "step 3 was stored whole, but not step 2 before it");
    EXPECT_TRUE(fs::exists(behind));
    const Unfinished done = complete(Gaps::left);
    ASSERT_EQ(done.completed.size(), 1U);
    EXPECT_EQ(done.completed[0].step, 3);
    ASSERT_EQ(done.lost.size(), 1U);
    EXPECT_NE(done.lost[0].find("step 2 "), std::string::npos);
}

TEST_F(UnfinishedTest, AFileOnItsWayToItsNameIsCompletedWhereverItsRunWasKilled) {
    // With its receipts, and without.
    const std::string with = leave(1, 2, {0, 1});
    fs::rename(with, whole_path(with));
    const std::string cut = leave(2, 2, {0, 1});
    fs::resize_file(cut, file_bytes);
    fs::rename(cut, whole_path(cut));
    const Unfinished done = complete(Gaps::none);
    ASSERT_EQ(done.completed.size(), 2U);
    EXPECT_TRUE(done.lost.empty());
    for (const std::int64_t step : {1, 2})
        EXPECT_EQ(bytes_of(path_of(step)), std::string(static_cast<std::size_t>(file_bytes), 'v'));
}

TEST_F(UnfinishedTest, StepsOnAMeshThatIsLostAreLostToo) {
    leave(1, 1, {}, std::string(mesh_suffix));
    leave(1, 1, {0});
    leave(2, 1, {0});
    leave(3, 1, {0}, std::string(mesh_suffix));
    leave(3, 1, {0});
    const Unfinished done = complete();
    ASSERT_EQ(done.completed.size(), 1U);
    EXPECT_EQ(done.completed[0].step, 3);
    EXPECT_EQ(done.lost.size(), 3U);
    EXPECT_TRUE(fs::exists(path_of(3) + std::string(mesh_suffix)));
}

// As cp -al makes them.
TEST_F(UnfinishedTest, AFileWithFurtherNamesStaysAsItIsUnderThose) {
    for (const bool is_called_whole : {false, true}) {
        const std::int64_t step = is_called_whole ? 2 : 1;
        std::string part = leave(step, 2, {0, 1});
        const std::string with_receipts = bytes_of(part);
        if (is_called_whole) fs::rename(part, whole_path(part));
        if (is_called_whole) part = whole_path(part);
        const std::string copy = folder_ + "/copy" + std::to_string(step);
        fs::create_hard_link(part, copy);
        const Unfinished done = complete();
        ASSERT_EQ(done.completed.size(), 1U);
        EXPECT_EQ(bytes_of(path_of(step)), std::string(static_cast<std::size_t>(file_bytes), 'v'));
        EXPECT_EQ(bytes_of(copy), with_receipts);
        EXPECT_TRUE(find_series(prefix_).value().parts.empty());
    }
}

TEST_F(UnfinishedTest, AMarkerThatHasNoNameYetIsRemovedWithTheOtherParts) {
    const std::string part = part_path(prefix_ + ".staged", 0xbeef);
    std::ofstream(part) << "hakobi stage\n";
    const std::string like_it = prefix_ + ".staged.mine.part";
    std::ofstream(like_it) << "notes";
    const Series series = find_series(prefix_).value();
    EXPECT_EQ(series.parts, std::vector<std::string>{part});
    EXPECT_TRUE(complete().lost.empty());
    EXPECT_TRUE(remove_parts(series).ok());
    EXPECT_FALSE(fs::exists(part));
    EXPECT_TRUE(fs::exists(like_it));
}

TEST_F(UnfinishedTest, NothingThatIsThereIsReplaced) {
    leave(1, 1, {0});
    std::ofstream(path_of(1)) << "somebody else's";
    EXPECT_EQ(complete().lost.size(), 1U);
    EXPECT_EQ(bytes_of(path_of(1)), "somebody else's");
}

TEST_F(UnfinishedTest, WhoReadsLeavesALivingRunAlone) {
    const std::string part = leave(1, 1, {0});
    {
        const auto lock = lock_series(prefix_);
        complete_for_reading(prefix_);
        EXPECT_TRUE(fs::exists(part));
    }
    complete_for_reading(prefix_);
    EXPECT_TRUE(fs::exists(path_of(1)));
}

}  // namespace
}  // namespace hakobi::series
