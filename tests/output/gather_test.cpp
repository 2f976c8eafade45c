// Pieces of a run that did not end as it should, and what gathering makes of them.
#include <chrono>
#include <thread>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

const std::vector<TestField> fields = {{"eta", format::ValueType::float64, {23, 37}, even_blocks},
                                       {"u", format::ValueType::float32, {3, 23, 37}, uneven_rows}};

/// Three steps were written and their pieces kept; rank 0 then gathers.
class Pieces : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        Output out = Output::create(comm, folder + "/run", {.method = "per-process", .keep_pieces = true});
        for (int step = 0; step < 3; ++step) write_step(out, comm, step, fields);
        out.close();
        barrier();
    }
    [[nodiscard]] std::string pieces(int step) const {
        return folder + "/run_00000" + std::to_string(step) + ".nc.pieces";
    }
    [[nodiscard]] std::string last_piece(int step) const {
        return pieces(step) + "/00000" + std::to_string(comm.size() - 1) + ".piece";
    }

    /// Only step 1 could not be made: it is named with `why`, its pieces are as they were, and no part of a
    /// file is left.
    void expect_all_but_step_1(const GatherResult& result, const std::string& why) {
        EXPECT_EQ(result.files,
                  (std::vector<std::string>{folder + "/run_000000.nc", folder + "/run_000002.nc"}));
        ASSERT_EQ(result.incomplete.size(), 1U);
        EXPECT_NE(result.incomplete[0].find(why), std::string::npos) << result.incomplete[0];
        EXPECT_EQ(names_in(folder),
                  (std::vector<std::string>{"run_000000.nc", "run_000001.nc.pieces", "run_000002.nc"}));
        for (const int step : {0, 2}) expect_reference(step);
    }
    void expect_reference(int step) {
        EXPECT_TRUE(bytes_of_file(folder + "/run_00000" + std::to_string(step) + ".nc") ==
                    reference_file({}, step, fields, comm.size()));
    }
};

TEST_F(Pieces, OfWholeStepsBecomeTheirFilesAndAreRemoved) {
    if (!is_rank_0()) return;
    const GatherResult result = gather_pieces(folder);
    EXPECT_EQ(result.files.size(), 3U);
    EXPECT_TRUE(result.incomplete.empty());
    EXPECT_EQ(names_in(folder),
              (std::vector<std::string>{"run_000000.nc", "run_000001.nc", "run_000002.nc"}));
    for (int step = 0; step < 3; ++step) expect_reference(step);
}

TEST_F(Pieces, OfOneStepAreGatheredByTheFoldersName) {
    if (!is_rank_0()) return;
    EXPECT_EQ(gather_pieces(pieces(1) + "/").files, std::vector<std::string>{folder + "/run_000001.nc"});
    expect_reference(1);
    EXPECT_TRUE(fs::exists(pieces(0)));
}

TEST_F(Pieces, ThatAreMissingAreNamed) {
    if (!is_rank_0()) return;
    fs::remove(last_piece(1));
    const std::string why = comm.size() == 1
                                ? "the piece of rank 0 is missing"
                                : "1 of " + std::to_string(comm.size()) + " pieces are missing (rank " +
                                      std::to_string(comm.size() - 1) + ")";
    expect_all_but_step_1(gather_pieces(folder), why);
}

TEST_F(Pieces, ThatWereTornAtAnyLengthAreNotTaken) {
    if (!is_rank_0()) return;
    const std::vector<char> bytes = bytes_of_file(last_piece(1));
    const auto size = std::ssize(bytes);
    const auto restore = [&] { std::ofstream(last_piece(1), std::ios::binary).write(bytes.data(), size); };
    for (std::int64_t length = 0; length < size; length += 1 + length / 7) {
        SCOPED_TRACE(length);
        restore();
        fs::resize_file(last_piece(1), static_cast<std::uintmax_t>(length));
        const GatherResult result = gather_pieces(pieces(1));
        EXPECT_TRUE(result.files.empty());
        ASSERT_EQ(result.incomplete.size(), 1U);
        EXPECT_NE(result.incomplete[0].find("torn"), std::string::npos) << result.incomplete[0];
        // Zeros where the end was: what a file system shows of blocks that never reached the disk.
        fs::resize_file(last_piece(1), static_cast<std::uintmax_t>(size));
        EXPECT_EQ(gather_pieces(pieces(1)).incomplete.size(), 1U);
    }
    EXPECT_FALSE(fs::exists(folder + "/run_000001.nc"));
    EXPECT_FALSE(fs::exists(folder + "/run_000001.nc.part"));
}

TEST_F(Pieces, WithAnyByteChangedAreNotTaken) {
    if (!is_rank_0()) return;
    std::vector<char> bytes = bytes_of_file(last_piece(1));
    for (std::size_t at = 0; at < bytes.size(); at += 1 + bytes.size() / 97) {
        SCOPED_TRACE(at);
        bytes[at] = static_cast<char>(~bytes[at]);
        std::ofstream(last_piece(1), std::ios::binary)
            .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
        const GatherResult result = gather_pieces(pieces(1));
        EXPECT_TRUE(result.files.empty());
        EXPECT_EQ(result.incomplete.size(), 1U);
        bytes[at] = static_cast<char>(~bytes[at]);
    }
    std::ofstream(last_piece(1), std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    EXPECT_EQ(gather_pieces(folder).files.size(), 3U);
}

TEST_F(Pieces, OfAnotherStepAreNotTaken) {
    if (!is_rank_0()) return;
    fs::copy_file(last_piece(2), last_piece(1), fs::copy_options::overwrite_existing);
    if (comm.size() == 1) return;  // alone, the piece says by itself what it is
    expect_all_but_step_1(gather_pieces(folder), "of another step");
}

TEST_F(Pieces, BesideAnOlderFileReplaceIt) {
    if (!is_rank_0()) return;
    std::ofstream(folder + "/run_000000.nc") << "old";
    fs::last_write_time(folder + "/run_000000.nc",
                        fs::last_write_time(last_piece(0)) - std::chrono::seconds(5));
    EXPECT_EQ(gather_pieces(folder).files.size(), 3U);
    expect_reference(0);
}

TEST_F(Pieces, BesideAFileOfALaterRunAreLeftAndNamed) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // file systems' clocks tick every few
    Output out = Output::create(comm, folder + "/run", {.method = "root"});
    out.begin_step(7);
    out.end_step();
    out.close();
    barrier();
    if (!is_rank_0()) return;
    const std::vector<char> later = bytes_of_file(folder + "/run_000000.nc");
    const GatherResult result = gather_pieces(folder);
    EXPECT_EQ(result.files.size(), 2U);
    ASSERT_EQ(result.incomplete.size(), 1U);
    EXPECT_NE(result.incomplete[0].find("newer than the pieces"), std::string::npos) << result.incomplete[0];
    EXPECT_TRUE(bytes_of_file(folder + "/run_000000.nc") == later);
    EXPECT_EQ(names_in(pieces(0)).size(), static_cast<std::size_t>(comm.size()));
}

TEST_F(Pieces, ThatAGatheringLeftWhenItWasKilledAreRemovedByTheNext) {
    if (!is_rank_0()) return;
    for (const int step : {0, 1}) fs::copy(pieces(step), folder + "/kept_" + std::to_string(step));
    fs::file_time_type written = fs::file_time_type::min();
    for (const auto& entry : fs::directory_iterator(pieces(1)))
        written = std::max(written, fs::last_write_time(entry.path()));
    EXPECT_EQ(gather_pieces(folder).files.size(), 3U);
    // Killed among the removals of step 0, and before those of step 1.
    fs::rename(folder + "/kept_0", pieces(0) + ".gathered");
    fs::remove(pieces(0) + ".gathered/000000.piece");
    fs::rename(folder + "/kept_1", pieces(1));
    for (const auto& entry : fs::directory_iterator(pieces(1))) fs::last_write_time(entry.path(), written);
    const GatherResult result = gather_pieces(folder);
    EXPECT_EQ(result.files.size(), 2U);
    EXPECT_TRUE(result.incomplete.empty());
    EXPECT_EQ(names_in(folder),
              (std::vector<std::string>{"run_000000.nc", "run_000001.nc", "run_000002.nc"}));
    for (int step = 0; step < 3; ++step) expect_reference(step);
    // By the name of the folder that is gone, too.
    fs::create_directory(pieces(2) + ".gathered");
    EXPECT_TRUE(gather_pieces(pieces(2)).incomplete.empty());
    EXPECT_FALSE(fs::exists(pieces(2) + ".gathered"));
}

TEST_F(Pieces, LeftByAnEarlierRunAreNotMixedWithNewOnes) {
    Output out = Output::create(comm, folder + "/run", {.method = "per-process"});
    write_step(out, comm, 0, fields);
    EXPECT_EQ(names_in(pieces(0)).size(), static_cast<std::size_t>(comm.size()));
    barrier();
    out.close();
    if (is_rank_0()) expect_reference(0);
}

TEST_F(Pieces, LeftByAnEarlierRunStayWhenAStepIsRefused) {
    Output out = Output::create(comm, folder + "/run", {.method = "per-process"});
    const Error error = error_of([&] {
        out.begin_step(0);
        out.refuse("not today");
        out.end_step();
    });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    out.close();
    barrier();
    if (!is_rank_0()) return;
    EXPECT_EQ(gather_pieces(folder).files.size(), 3U);
    expect_reference(0);
}

TEST_F(Pieces, ThatAreNowhereAreAnError) {
    if (!is_rank_0()) return;
    fs::create_directory(folder + "/empty");
    EXPECT_EQ(error_of([&] { gather_pieces(folder + "/empty"); }).code(), ErrorCode::not_found);
    EXPECT_EQ(error_of([&] { gather_pieces(folder + "/nowhere"); }).code(), ErrorCode::not_found);
    std::ofstream(folder + "/file") << "x";
    EXPECT_EQ(error_of([&] { gather_pieces(folder + "/file"); }).code(), ErrorCode::format);
}

}  // namespace
}  // namespace hakobi::test
