// Pieces of a run that did not end as it should, and what gathering makes of them.
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>

#include "mesh_fixture.hpp"
#include "series/gather.hpp"

namespace hakobi::test {
namespace {

/// Three steps were written and their pieces kept; rank 0 then gathers.
class Pieces : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        Output out = Output::create(comm, folder + "/run",
                                    {.method = "per-process", .per_process = {.keep_pieces = true}});
        for (int step = 0; step < 3; ++step) write_step(out, comm, step, eta_and_u);
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
        EXPECT_EQ(result.incomplete[0].find("step 1: "), 0U) << result.incomplete[0];
        EXPECT_EQ(names_in(folder),
                  (std::vector<std::string>{"run_000000.nc", "run_000001.nc.pieces", "run_000002.nc"}));
        for (const int step : {0, 2}) expect_reference(step);
    }
    void expect_reference(int step) {
        EXPECT_TRUE(bytes_of_file(folder + "/run_00000" + std::to_string(step) + ".nc") ==
                    reference_file({}, step, eta_and_u, comm.size()));
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
    testing::internal::CaptureStderr();
    EXPECT_EQ(Input::open(folder + "/run").steps().size(), 2U);
    const std::string told = testing::internal::GetCapturedStderr();
    EXPECT_NE(told.find("step 1 was not stored whole when its run ended: "), std::string::npos) << told;
    expect_all_but_step_1(gather_pieces(folder), why);
}

TEST_F(Pieces, ThatAreMissingAreNotToldOfWhileARunWrites) {
    if (!is_rank_0()) return;
    const auto lock = series::lock_series(folder + "/run");
    ASSERT_TRUE(lock.ok()) << lock.status().text();
    fs::remove(last_piece(1));
    testing::internal::CaptureStderr();
    EXPECT_EQ(Input::open(folder + "/run").steps().size(), 2U);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
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

TEST_F(Pieces, BesideAnotherFileAreLeftAndNamedHoweverOldItIs) {
    Output out = Output::create(comm, folder + "/other", {.method = "root"});
    for (int step = 0; step < 3; ++step) write_step(out, comm, step == 1 ? 7 : step, eta_and_u);
    out.close();
    barrier();
    if (!is_rank_0()) return;
    // An unpacked archive has old dates: what the file says decides.
    for (const auto age : {std::chrono::hours(-1), std::chrono::hours(1000)}) {
        const std::string path = folder + "/run_000001.nc";
        fs::copy_file(folder + "/other_000001.nc", path, fs::copy_options::overwrite_existing);
        fs::last_write_time(path, fs::last_write_time(last_piece(1)) - age);
        const std::vector<char> other = bytes_of_file(path);
        const GatherResult result = gather_pieces(pieces(1));
        EXPECT_TRUE(result.files.empty());
        ASSERT_EQ(result.incomplete.size(), 1U);
        EXPECT_NE(result.incomplete[0].find("is not what the pieces make"), std::string::npos)
            << result.incomplete[0];
        EXPECT_TRUE(bytes_of_file(path) == other);
        EXPECT_EQ(names_in(pieces(1)).size(), static_cast<std::size_t>(comm.size()));
    }
    // Its own file, and one of which a single value differs.
    fs::copy_file(folder + "/other_000000.nc", folder + "/run_000000.nc");
    EXPECT_EQ(gather_pieces(pieces(0)).files.size(), 1U);
    std::vector<char> damaged = bytes_of_file(folder + "/other_000002.nc");
    damaged[damaged.size() - 4] ^= 1;
    std::ofstream(folder + "/run_000002.nc", std::ios::binary).write(damaged.data(), std::ssize(damaged));
    EXPECT_EQ(gather_pieces(pieces(2)).incomplete.size(), 1U);
    EXPECT_TRUE(fs::exists(pieces(2)));
}

TEST_F(Pieces, ThatAGatheringLeftWhenItWasKilledAreRemovedByTheNext) {
    if (!is_rank_0()) return;
    for (const int step : {0, 1}) fs::copy(pieces(step), folder + "/kept_" + std::to_string(step));
    EXPECT_EQ(gather_pieces(folder).files.size(), 3U);
    // Killed among the removals of step 0, and before those of step 1.
    fs::rename(folder + "/kept_0", pieces(0) + ".gathered");
    fs::remove(pieces(0) + ".gathered/000000.piece");
    fs::rename(folder + "/kept_1", pieces(1));
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
    // Without their file they may be all there is.
    fs::create_directory(pieces(2) + ".gathered");
    fs::remove(folder + "/run_000002.nc");
    EXPECT_EQ(gather_pieces(pieces(2)).incomplete.size(), 1U);
    EXPECT_TRUE(fs::exists(pieces(2) + ".gathered"));
}

TEST_F(Pieces, ThatAreNoRegularFilesAreToldAtOnce) {
    if (!is_rank_0()) return;
    fs::rename(last_piece(0), folder + "/elsewhere");
    fs::create_symlink(folder + "/elsewhere", last_piece(0));
    fs::remove(last_piece(1));
    ASSERT_EQ(mkfifo(last_piece(1).c_str(), 0666), 0);
    ASSERT_EQ(mkfifo((folder + "/run_000002.nc").c_str(), 0666), 0);
    const GatherResult result = gather_pieces(folder);
    EXPECT_TRUE(result.files.empty());
    ASSERT_EQ(result.incomplete.size(), 3U);
    EXPECT_NE(result.incomplete[0].find("symbolic link"), std::string::npos) << result.incomplete[0];
    EXPECT_NE(result.incomplete[1].find("not a regular file"), std::string::npos) << result.incomplete[1];
    EXPECT_NE(result.incomplete[2].find("special file"), std::string::npos) << result.incomplete[2];
}

TEST_F(Pieces, OfARunThatGoesOnAreItsOwn) {
    Output out = Output::create(comm, folder + "/other", {.method = "per-process"});
    write_step(out, comm, 0, eta_and_u);
    barrier();
    if (is_rank_0()) {
        const GatherResult result = gather_pieces(folder + "/other_000000.nc.pieces");
        EXPECT_TRUE(result.files.empty());
        ASSERT_EQ(result.incomplete.size(), 1U);
        EXPECT_NE(result.incomplete[0].find("in use by"), std::string::npos) << result.incomplete[0];
    }
    barrier();
    out.close();
}

/// HAKOBI_RACES of them where a person asks.
int num_races(int otherwise) {
    const char* const text = std::getenv("HAKOBI_RACES");
    return text != nullptr ? std::atoi(text) : otherwise;
}

TEST_F(Pieces, GatheredByAllAtOnceLoseNothing) {
    for (int race = 0; race < num_races(24) && !has_any_rank_failed(); ++race) {
        SCOPED_TRACE(race);
        barrier();
        std::size_t num_left = 0;
        const Error error = error_of([&] { num_left = gather_pieces(folder).incomplete.size(); });
        // Who comes last may find no folder at all.
        EXPECT_TRUE(error.code() == ErrorCode::ok || error.code() == ErrorCode::not_found) << error.what();
        barrier();
        if (is_rank_0()) {
            for (int step = 0; step < 3; ++step) expect_reference(step);
            EXPECT_EQ(names_in(folder),
                      (std::vector<std::string>{"run_000000.nc", "run_000001.nc", "run_000002.nc"}));
        }
        Output out =
            Output::create(comm, folder + "/run",
                           {.method = "per-process", .if_exists = IfExists::replace, .keep_pieces = true});
        for (int step = 0; step < 3; ++step) write_step(out, comm, step, eta_and_u);
        out.close();
    }
}

TEST_F(Pieces, GatheredWhileTheRunClosesLoseNothing) {
    for (int race = 0; race < num_races(24) && !has_any_rank_failed(); ++race) {
        SCOPED_TRACE(race);
        // The last of several ranks runs by itself; the first gathers as a stranger would.
        MPI_Comm half = MPI_COMM_NULL;
        const bool is_run = comm.rank() == comm.size() - 1;
        MPI_Comm_split(comm.handle(), is_run ? 1 : 0, 0, &half);
        Comm mine = Comm::duplicate(half);
        if (is_run) {
            Output out = Output::create(mine, folder + "/race",
                                        {.method = "per-process", .if_exists = IfExists::replace});
            write_step(out, mine, 0, eta_and_u);
            barrier();
            EXPECT_EQ(error_of([&] { out.close(); }).code(), ErrorCode::ok);
        } else {
            barrier();
            for (int i = 0; i < 3; ++i)
                (void)error_of([&] { (void)gather_pieces(folder + "/race_000000.nc.pieces"); });
        }
        barrier();
        if (is_rank_0()) {
            EXPECT_TRUE(bytes_of_file(folder + "/race_000000.nc") == reference_file({}, 0, eta_and_u, 1));
            EXPECT_FALSE(fs::exists(folder + "/race_000000.nc.pieces"));
        }
        mine.free();
        MPI_Comm_free(&half);
    }
}

TEST_F(Pieces, LeaveNoTemporaryFileWhereMemoryIsShort) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "the sanitizer ends a program whose allocation fails";
#endif
    if (!is_rank_0()) return;
    const Status status = series::gather_folder(pieces(0), std::int64_t{1} << 60, false);
    EXPECT_EQ(status.code(), ErrorCode::out_of_memory) << status.text();
    EXPECT_EQ(names_in(folder), (std::vector<std::string>{"run_000000.nc.pieces", "run_000001.nc.pieces",
                                                          "run_000002.nc.pieces"}));
    EXPECT_EQ(names_in(pieces(0)).size(), static_cast<std::size_t>(comm.size()));
}

TEST_F(Pieces, LeftByAnEarlierRunAreRefusedOrReplacedOrGathered) {
    const std::string prefix = folder + "/run";
    const Error error = error_of([&] { auto out = Output::create(comm, prefix, {.method = "per-process"}); });
    EXPECT_EQ(error.code(), ErrorCode::exists);
    EXPECT_TRUE(is_same_everywhere(comm, error));
    EXPECT_NE(
        std::string(error.what()).find("pieces of 3 steps (run_000000.nc.pieces to run_000002.nc.pieces)"),
        std::string::npos)
        << error.what();
    Output out = Output::create(comm, prefix, {.method = "per-process", .if_exists = IfExists::resume});
    write_step(out, comm, 3, eta_and_u);
    EXPECT_EQ(names_in(pieces(3)).size(), static_cast<std::size_t>(comm.size()));
    barrier();
    out.close();
    barrier();
    if (is_rank_0()) {
        for (int step = 0; step < 4; ++step) expect_reference(step);
    }
    Output anew = Output::create(comm, prefix, {.method = "per-process", .if_exists = IfExists::replace});
    barrier();
    EXPECT_EQ(names_in(folder), std::vector<std::string>{"run.lock"});
    barrier();
    anew.close();
}

TEST_F(Pieces, LeftByAnEarlierRunStayWhenAStepIsRefused) {
    Output out =
        Output::create(comm, folder + "/run", {.method = "per-process", .if_exists = IfExists::resume});
    const Error error = error_of([&] {
        out.begin_step(0);
        out.refuse("not today");
        out.end_step();
    });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    out.close();
    barrier();
    if (!is_rank_0()) return;
    for (int step = 0; step < 3; ++step) expect_reference(step);
}

/// Three steps on one mesh, whose pieces are kept, with a torn piece of the mesh.
class PiecesOfALostMesh : public RanksTest {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        const RankMesh mine(comm.rank(), comm.size(), 0);
        Output out = create(IfExists::fail);
        for (int step = 0; step < 3; ++step) {
            std::vector<Values> kept;
            out.begin_step(step);
            if (step == 0) out.put_mesh(mine.mesh(Motion::fixed));
            put_mesh_fields(out, mine, step, kept);
            out.end_step();
        }
        out.close();
        if (is_rank_0()) fs::resize_file(folder + "/" + mesh_pieces + "/000000.piece", 100);
        barrier();
    }
    Output create(IfExists if_exists) {
        return Output::create(comm, folder + "/run",
                              {.method = "per-process",
                               .format = "vtkhdf",
                               .if_exists = if_exists,
                               .per_process = {.keep_pieces = true}});
    }

    const std::string mesh_pieces = "run_000000.hdf.mesh.pieces";
    const std::vector<std::string> all = {mesh_pieces, "run_000000.hdf.pieces", "run_000001.hdf.pieces",
                                          "run_000002.hdf.pieces"};
};

TEST_F(PiecesOfALostMesh, StayWhereARunGoesOn) {
    for (int tries = 0; tries < 2; ++tries) {
        const Error error = error_of([&] { (void)create(IfExists::resume); });
        EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::format)) << error.what();
        EXPECT_NE(std::string(error.what())
                      .find("the pieces of step 0 are whole and stay, but not those of its mesh"),
                  std::string::npos)
            << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        barrier();
        EXPECT_EQ(names_in(folder), all);
        barrier();
    }
}

TEST_F(PiecesOfALostMesh, StayWhereTheyAreGathered) {
    if (!is_rank_0()) return;
    const GatherResult result = gather_pieces(folder);
    EXPECT_TRUE(result.files.empty());
    EXPECT_EQ(result.incomplete.size(), 4U);
    EXPECT_EQ(names_in(folder), all);
}

TEST_F(PiecesOfALostMesh, GoWithItWhereTheyAreNotWholeEither) {
    if (is_rank_0()) {
        for (const std::string& pieces : all) fs::resize_file(folder + "/" + pieces + "/000000.piece", 100);
    }
    barrier();
    create(IfExists::resume).close();
    barrier();
    EXPECT_TRUE(names_in(folder).empty());
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
