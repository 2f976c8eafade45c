// Tests of an opener with the files that a run has left under temporary names.
#include "series/unfinished.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <set>
#include <span>

#include "series/pending_commit.hpp"
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
    leave(1, 1, {}, mesh_path(""));
    leave(1, 1, {0});
    leave(2, 1, {0});
    leave(3, 1, {0}, mesh_path(""));
    leave(3, 1, {0});
    const Unfinished done = complete();
    ASSERT_EQ(done.completed.size(), 1U);
    EXPECT_EQ(done.completed[0].step, 3);
    EXPECT_EQ(done.lost.size(), 3U);
    EXPECT_TRUE(fs::exists(mesh_path(path_of(3))));
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

/// Steps of one file, as a run leaves them that is killed before their commits.
class PendingCommitTest : public UnfinishedTest {
  protected:
    static constexpr std::int64_t step_bytes = 5000;

    Step step(std::int64_t number) {
        Step step{.run = {1, 2},
                  .number = number,
                  .place = storage::open_place_of(prefix_).place,
                  .path = path_of(0),
                  .part_path = part_path(path_of(0), 0xfeed)};
        step.step_in_file = number;
        step.layout.file_bytes = (number + 1) * step_bytes;
        step.layout.commit = {{number * step_bytes + 1000, bytes("metadata of " + std::to_string(number))},
                              {0, begins(number)}};
        return step;
    }
    /// With receipts of `stored`, of two writers. Returns where it is.
    std::string leave_step(std::int64_t number, const std::set<int>& stored) {
        const Step left = step(number);
        if (number == 0) std::ofstream(left.part_path) << std::string(step_bytes, '\0');
        const std::vector<std::byte> before = number == 0 ? std::vector<std::byte>() : begins(number - 1);
        EXPECT_TRUE(leave_commit(left, before).ok());
        auto file =
            storage::open_file(fs::exists(left.part_path) ? left.part_path : left.path, {.write = true});
        for (const int writer : stored) write_receipt(*file.value(), receipt_of(left), writer, 2);
        return commit_path(left);
    }
    static std::vector<std::byte> bytes(const std::string& text) {
        const auto all = std::as_bytes(std::span(text));
        return {all.begin(), all.end()};
    }
    static std::vector<std::byte> begins(std::int64_t number) {
        return bytes("file with step " + std::to_string(number));
    }
    /// The file has its name and its steps up to this one.
    void expect_file_up_to(std::int64_t last) {
        const std::string file = bytes_of(path_of(0));
        EXPECT_TRUE(file.starts_with("file with step " + std::to_string(last)));
        EXPECT_GE(std::ssize(file), (last + 1) * step_bytes);
        for (std::int64_t number = 0; number <= last; ++number)
            EXPECT_EQ(file.find("metadata of " + std::to_string(number)),
                      static_cast<std::size_t>(number * step_bytes + 1000));
        EXPECT_FALSE(fs::exists(step(0).part_path));
    }
};

TEST_F(PendingCommitTest, StoredStepsOfOneFileBecomePartOfItInTheirOrder) {
    for (const std::int64_t number : {0, 1, 2}) leave_step(number, {1, 0});
    const Unfinished done = complete(Gaps::none);
    EXPECT_EQ(done.completed.size(), 3U);
    EXPECT_TRUE(done.lost.empty());
    expect_file_up_to(2);
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(PendingCommitTest, StepsBehindOneThatIsNotWholeAreNamed) {
    leave_step(0, {0, 1});
    leave_step(1, {1});
    leave_step(2, {0, 1});
    for (const Gaps gaps : {Gaps::none, Gaps::left}) {
        const Unfinished done = complete(gaps);
        EXPECT_EQ(done.completed.size(), gaps == Gaps::none ? 1U : 0U);
        ASSERT_EQ(done.lost.size(), 2U);
        EXPECT_EQ(
            done.lost[0],
            "step 1 was not stored whole when its run ended: 1 of its 2 writers had stored their parts");
        EXPECT_TRUE(done.lost[1].starts_with("step 2 was stored whole, but ")) << done.lost[1];
        expect_file_up_to(0);
    }
}

TEST_F(PendingCommitTest, AFileWithoutItsFirstStepIsNamedOnce) {
    leave_step(0, {});
    const Unfinished done = complete();
    EXPECT_TRUE(done.completed.empty());
    ASSERT_EQ(done.lost.size(), 1U);
    EXPECT_TRUE(done.lost[0].starts_with("step 0 was not stored whole")) << done.lost[0];
    EXPECT_FALSE(fs::exists(path_of(0)));
}

TEST_F(PendingCommitTest, WhereverARunWasKilledOnTheWayTheRestIsDone) {
    // Behind the commit and before the name; behind both.
    leave_step(0, {0, 1});
    const Step first = step(0);
    ASSERT_TRUE(commit_step(first.part_path, first.layout.commit, {}, false).ok());
    EXPECT_EQ(complete().completed.size(), 1U);
    expect_file_up_to(0);
    leave_step(1, {0, 1});
    const Step second = step(1);
    ASSERT_TRUE(make_longer(path_of(0), second.layout.file_bytes).ok());
    ASSERT_TRUE(commit_step(path_of(0), second.layout.commit, begins(0), false).ok());
    EXPECT_EQ(complete().completed.size(), 1U);
    expect_file_up_to(1);
    EXPECT_FALSE(fs::exists(commit_path(second)));
}

TEST_F(PendingCommitTest, ADamagedOneOrOneOfAnotherFileIsNamedAndWritesNothing) {
    const std::string damaged = leave_step(0, {0, 1});
    std::fstream file(damaged, std::ios::in | std::ios::out);
    file.seekp(40);
    file.put('\xff');
    file.close();
    EXPECT_EQ(complete().lost.size(), 1U);
    fs::remove(damaged);
    for (const char* const name :
         {"/other_000000.nc", "/run_000000.hdf", "/run_000000.nc.overview.zip", "/precious"}) {
        std::ofstream(folder_ + name) << "precious";
        Step foreign = step(3);
        foreign.path = foreign.part_path = folder_ + name;
        const std::string left = commit_path(step(3));
        ASSERT_TRUE(leave_commit(foreign, {}).ok());
        if (commit_path(foreign) != left) {  // in the working directory, maybe of another file system
            fs::copy_file(commit_path(foreign), left);
            fs::remove(commit_path(foreign));
        }
        auto other = storage::open_file(folder_ + name, {.write = true});
        write_receipt(*other.value(), receipt_of(step(3)), 0, 1);
        const Unfinished done = complete();
        EXPECT_TRUE(done.completed.empty()) << name;
        EXPECT_EQ(bytes_of(folder_ + name), "precious");
        fs::remove(left);
    }
}

TEST_F(PendingCommitTest, OneThatReachesBeyondItsFileIsDamaged) {
    for (const std::int64_t bytes :
         {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1}, std::int64_t{999}}) {
        Step left = step(1);
        left.layout.file_bytes = bytes;
        ASSERT_TRUE(leave_commit(left, begins(0)).ok());
        EXPECT_EQ(read_pending_commit(commit_path(left)).status().code(), ErrorCode::format) << bytes;
        fs::remove(commit_path(left));
    }
}

/// Steps of a mesh that another file has: each of the fields below is an array there.
class PendingLinksTest : public PendingCommitTest {
  protected:
    /// Step 0, stored whole, with links to these files of its folder. Returns where its commit is.
    std::string leave_linked(const std::vector<std::string>& links) {
        Step left = step(0);
        for (const std::string& link : links)
            left.description.fields.push_back({.name = "points", .file = link});
        std::ofstream(left.part_path) << std::string(step_bytes, '\0');
        EXPECT_TRUE(leave_commit(left, {}).ok());
        auto file = storage::open_file(left.part_path, {.write = true});
        for (const int writer : {0, 1}) write_receipt(*file.value(), receipt_of(left), writer, 2);
        return commit_path(left);
    }
    const std::string mesh_ = mesh_path(file_name(path_of(0)));
};

TEST_F(PendingLinksTest, AreKeptOncePerFile) {
    const std::string other = file_name(path_of(4));
    const auto pending = read_pending_commit(leave_linked({mesh_, other, "", mesh_}));
    ASSERT_TRUE(pending.ok()) << pending.status().text();
    EXPECT_EQ(std::set<std::string>(pending.value().links.begin(), pending.value().links.end()),
              (std::set<std::string>{mesh_, other}));
    EXPECT_EQ(pending.value().links.size(), 2U);
}

TEST_F(PendingLinksTest, ToAFileThatIsNotThereKeepTheStepFromBeingWhole) {
    const std::string left = leave_linked({mesh_});
    for (const Gaps gaps : {Gaps::none, Gaps::left}) {
        const Unfinished done = complete(gaps);
        EXPECT_TRUE(done.completed.empty());
        ASSERT_EQ(done.lost.size(), 1U);
        EXPECT_EQ(done.lost[0], "step 0 was stored whole, but it needs " + mesh_ + ", which is not there");
        EXPECT_TRUE(fs::exists(left));
        EXPECT_FALSE(fs::exists(path_of(0)));
    }
    std::ofstream(folder_ + "/" + mesh_) << "a mesh";
    EXPECT_EQ(complete().completed.size(), 1U);
    expect_file_up_to(0);
}

TEST_F(PendingLinksTest, ToAMeshThatWasStoredBecomeWholeBehindIt) {
    for (const bool is_mesh_stored : {false, true}) {
        leave_linked({mesh_});
        leave(0, 1, is_mesh_stored ? std::set<int>{0} : std::set<int>(), mesh_path(""));
        const Unfinished done = complete();
        EXPECT_EQ(done.completed.size(), is_mesh_stored ? 1U : 0U);
        EXPECT_EQ(done.lost.size(), is_mesh_stored ? 0U : 2U);
        EXPECT_EQ(fs::exists(folder_ + "/" + mesh_), is_mesh_stored);
        EXPECT_EQ(fs::exists(path_of(0)), is_mesh_stored);
        EXPECT_TRUE(remove_parts(find_series(prefix_).value()).ok());
    }
}

TEST_F(PendingLinksTest, ThatLeadElsewhereAreDamage) {
    for (const char* const link : {"../run_000000.nc.mesh", "/etc/hostname", "other_000000.nc.mesh",
                                   "run.lock", "run_000000.nc.mesh.0123456789abcdef.part"}) {
        const std::string left = leave_linked({link});
        EXPECT_EQ(read_pending_commit(left).status().code(), ErrorCode::format) << link;
        fs::remove(left);
    }
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
