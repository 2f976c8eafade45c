// Steps that become part of a file of several, where none fails and where one does.
#include "output/commits.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "series/pending_commit.hpp"
#include "series/step_file.hpp"
#include "storage/place.hpp"

namespace hakobi::output {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t first_bytes = 1000, second_bytes = 1700;

class CommitsTest : public ::testing::Test {
  protected:
    CommitsTest() {
        fs::remove_all(folder_);
        fs::create_directory(folder_);
        setup_.hidden.is_on = true;
    }
    ~CommitsTest() override { fs::remove_all(folder_); }

    /// The file begins with the number of its steps.
    series::Step step_of(std::int64_t number) const {
        series::Step step{.number = number, .place = storage::open_place(folder_)};
        step.path = folder_ + "/run_000000.nc";
        step.part_path = number == 0 ? series::part_path(step.path, 0xfeed) : step.path;
        step.step_in_file = number;
        step.layout.file_bytes = number == 0 ? first_bytes : second_bytes;
        step.layout.commit = {{.offset_bytes = 0, .bytes = {std::byte(number + 1)}}};
        return step;
    }
    /// Makes the file, or makes it longer, with the step's values.
    static void store(const series::Step& step) {
        const Status made = step.step_in_file == 0
                                ? series::create_file(step.part_path, {}, step.layout.file_bytes)
                                : series::make_longer(step.part_path, step.layout.file_bytes);
        ASSERT_TRUE(made.ok()) << made.text();
    }
    std::byte first_byte() const { return series::read_beginning(step_of(1).path, 1).value().at(0); }
    std::uintmax_t size() const { return fs::file_size(step_of(1).path); }

    std::string folder_ = fs::temp_directory_path() / ("hakobi-commits-" + std::to_string(::getpid()));
    output::Setup setup_;
};

TEST_F(CommitsTest, TheFirstGivesTheFileItsNameAndEachTakesItsCommitAway) {
    Commits commits(setup_);
    for (const std::int64_t number : {0, 1}) {
        const series::Step step = step_of(number);
        store(step);
        ASSERT_TRUE(commits.leave(step).ok());
        EXPECT_TRUE(fs::exists(series::commit_path(step)));
        ASSERT_TRUE(commits.commit(step).ok());
        EXPECT_FALSE(fs::exists(series::commit_path(step)));
        EXPECT_EQ(first_byte(), std::byte(number + 1));
    }
    commits.discard();
    EXPECT_EQ(size(), static_cast<std::uintmax_t>(second_bytes));
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()), 1);
}

TEST_F(CommitsTest, AStepThatIsGivenUpIsCutOff) {
    Commits commits(setup_);
    store(step_of(0));
    ASSERT_TRUE(commits.commit(step_of(0)).ok());
    store(step_of(1));
    ASSERT_TRUE(commits.leave(step_of(1)).ok());
    commits.discard();
    EXPECT_EQ(size(), static_cast<std::uintmax_t>(first_bytes));
    EXPECT_FALSE(fs::exists(series::commit_path(step_of(1))));
    EXPECT_EQ(first_byte(), std::byte(1));
}

TEST_F(CommitsTest, AStepThatIsKeptIsForTheNextOpener) {
    Commits commits(setup_);
    store(step_of(0));
    ASSERT_TRUE(commits.commit(step_of(0)).ok());
    store(step_of(1));
    ASSERT_TRUE(commits.leave(step_of(1)).ok());
    commits.keep(step_of(1));
    commits.discard();
    EXPECT_EQ(size(), static_cast<std::uintmax_t>(second_bytes));
    const auto pending = series::read_pending_commit(series::commit_path(step_of(1)));
    ASSERT_TRUE(pending.ok()) << pending.status().text();
    EXPECT_EQ(series::carry_out(pending.value(), folder_).value(), step_of(1).path);
    EXPECT_EQ(first_byte(), std::byte(2));
}

TEST_F(CommitsTest, AFileThatAnotherProgramHasChangedIsLeft) {
    Commits commits(setup_);
    store(step_of(0));
    ASSERT_TRUE(commits.commit(step_of(0)).ok());
    store(step_of(1));
    const std::vector<format::Extent> theirs = {{.offset_bytes = 0, .bytes = {std::byte(77)}}};
    ASSERT_TRUE(series::commit_step(step_of(1).path, theirs, {}, false).ok());
    EXPECT_EQ(commits.commit(step_of(1)).code(), ErrorCode::exists);
    commits.discard();
    EXPECT_EQ(size(), static_cast<std::uintmax_t>(second_bytes));
    EXPECT_EQ(first_byte(), std::byte(77));
}

TEST_F(CommitsTest, NothingIsLeftOfAStepThatIsNotHidden) {
    setup_.hidden.is_on = false;
    Commits commits(setup_);
    store(step_of(0));
    ASSERT_TRUE(commits.leave(step_of(0)).ok());
    EXPECT_FALSE(fs::exists(series::commit_path(step_of(0))));
    EXPECT_FALSE(commits.is_left(step_of(0)));
}

}  // namespace
}  // namespace hakobi::output
