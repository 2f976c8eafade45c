// Failures and their reports: the same Error on every rank, earlier steps whole, nothing temporary left.
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmath>

#include "fixture.hpp"

namespace {
bool do_folders_sync = true;
}

/// The C library's, in front of it: fails for folders when a test says so.
extern "C" int fsync(int descriptor) {
    struct stat info {};
    if (!do_folders_sync && ::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode)) {
        errno = EIO;
        return -1;
    }
    return static_cast<int>(::syscall(SYS_fsync, descriptor));
}

namespace hakobi::test {
namespace {

using format::ValueType;

/// One good step has been written; the next one is the test's.
class AfterOneStep : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        out = std::make_unique<Output>(Output::create(comm, folder + "/run", {.method = GetParam()}));
        write_step(*out, comm, 0, eta_and_mask);
    }

    /// The step failed with `code` on all ranks alike: the object is failed, close works, the first step is
    /// whole and alone.
    void expect_failed(const Error& error, ErrorCode code) {
        EXPECT_EQ(to_string(error.code()), to_string(code)) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        EXPECT_EQ(error_of([&] { out->begin_step(1); }).code(), ErrorCode::failed);
        EXPECT_EQ(error_of([&] { out->end_step(); }).code(), ErrorCode::failed);
        out->close();
        barrier();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), std::vector<std::string>{"run_000000.nc"});
            EXPECT_TRUE(bytes_of_file(folder + "/run_000000.nc") ==
                        reference_file({}, 0, eta_and_mask, comm.size()));
        }
        barrier();
    }

    /// Puts `change`d versions of the good fields on rank `changed_rank` and good ones elsewhere; the error
    /// of end_step.
    template <class Change>
    Error error_of_step(int changed_rank, Change change) {
        return error_of([&] {
            out->begin_step(1);
            std::vector<Field> puts;
            std::vector<Values> values;
            for (std::size_t f = 0; f < eta_and_mask.size(); ++f) {
                values.emplace_back(
                    f, eta_and_mask[f], 1,
                    eta_and_mask[f].block_of(eta_and_mask[f].global, comm.size(), comm.rank()));
            }
            for (std::size_t f = 0; f < eta_and_mask.size(); ++f) {
                puts.push_back({.name = eta_and_mask[f].name,
                                .units = "m",
                                .block = values[f].block(),
                                .data = values[f].data()});
            }
            if (comm.rank() == changed_rank) change(puts);
            for (const Field& field : puts) out->put(field);
            out->end_step();
        });
    }
    [[nodiscard]] int last_rank() const { return comm.size() - 1; }

    std::unique_ptr<Output> out;
};

TEST_P(AfterOneStep, AFieldOfAnotherNameOnOneRankIsNamed) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    const Error error = error_of_step(last_rank(), [](auto& puts) { puts[1].name = "masque"; });
    EXPECT_NE(std::string(error.what()).find("field 2 is called 'masque', not 'mask'"), std::string::npos)
        << error.what();
    EXPECT_EQ(error.rank(), last_rank());
    expect_failed(error, ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, FieldsInAnotherOrderOnOneRankAreAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    expect_failed(error_of_step(last_rank(), [](auto& puts) { std::swap(puts[0], puts[1]); }),
                  ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, AMissingFieldOnOneRankIsAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    expect_failed(error_of_step(0, [](auto& puts) { puts.pop_back(); }), ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, AnotherTypeOnOneRankIsAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    static const std::vector<float> floats(23 * 37);
    const Error error = error_of_step(last_rank(), [](auto& puts) {
        puts[0].data = std::span(floats).first(static_cast<std::size_t>(puts[0].block.num_elements()));
    });
    EXPECT_NE(std::string(error.what()).find("eta is float, not double"), std::string::npos) << error.what();
    expect_failed(error, ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, AnotherTypeThanInTheStepBeforeIsAnError) {
    static const std::vector<float> floats(23 * 37);
    const Error error = error_of([&] {
        out->begin_step(1);
        const Block block = split({23, 37}, comm.size(), comm.rank());
        const auto values = std::span(floats).first(static_cast<std::size_t>(block.num_elements()));
        out->put({.name = "eta", .units = "m", .block = block, .data = values});
        out->end_step();
    });
    EXPECT_STREQ(
        error.what(),
        "field eta: its values are float, and those of earlier steps double: all steps have one type");
    expect_failed(error, ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, AnotherTimeOnOneRankIsAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    expect_failed(error_of([&] {
                      out->begin_step(comm.rank() == 0 ? 1.0 : 2.0);
                      out->end_step();
                  }),
                  ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, ABlockThatLeavesTheArrayIsAnError) {
    expect_failed(error_of_step(last_rank(), [](auto& puts) { puts[0].block.start[1] += 1; }),
                  ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, ValuesFewerThanTheBlockHasAreAnError) {
    const Error error = error_of_step(0, [](auto& puts) { puts[0].data = std::span<const double>(); });
    EXPECT_NE(std::string(error.what()).find("but 0 values were given"), std::string::npos) << error.what();
    expect_failed(error, ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, OverlappingBlocksAreAnErrorThatNamesTwoRanks) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks that overlap";
    static const std::vector<double> values(23 * 37);
    const Error error = error_of_step(last_rank(), [](auto& puts) {
        puts[0].block = split({23, 37}, 1, 0);
        puts[0].data = std::span(values);
    });
    EXPECT_NE(std::string(error.what()).find("overlap"), std::string::npos) << error.what();
    expect_failed(error, ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, TwoFieldsOfOneNameAreAnError) {
    expect_failed(error_of([&] {
                      out->begin_step(1);
                      const Block block = split({23, 37}, comm.size(), comm.rank());
                      const std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
                      for (int i = 0; i < 2; ++i)
                          out->put({.name = "eta", .block = block, .data = std::span(values)});
                      out->end_step();
                  }),
                  ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, ATimeThatIsNoNumberIsAnError) {
    expect_failed(error_of([&] {
                      out->begin_step(std::nan(""));
                      out->end_step();
                  }),
                  ErrorCode::invalid_argument);
}

TEST_P(AfterOneStep, AFolderInTheFilesWayIsAnError) {
    barrier();
    if (is_rank_0()) fs::create_directory(folder + "/run_000001.nc");
    barrier();
    const Error error = error_of_step(-1, [](auto&) {});
    EXPECT_NE(std::string(error.what()).find("in the way"), std::string::npos) << error.what();
    barrier();
    if (is_rank_0()) fs::remove(folder + "/run_000001.nc");
    expect_failed(error, ErrorCode::exists);
}

TEST_P(AfterOneStep, AFolderThatCannotBeSyncedIsOneErrorAndCloseAddsNone) {
    out->close();
    barrier();
    if (is_rank_0()) fs::remove(folder + "/run_000000.nc");
    Output synced =
        Output::create(comm, folder + "/run", {.method = GetParam(), .sync = true, .asynchronous = false});
    do_folders_sync = false;
    const Error error = error_of([&] { write_step(synced, comm, 0, eta_and_mask); });
    do_folders_sync = true;
    EXPECT_EQ(error.code(), ErrorCode::io) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    EXPECT_EQ(error_of([&] { synced.close(); }).code(), ErrorCode::ok);
    barrier();
    for (const std::string& name : names_in(folder)) EXPECT_EQ(name, "run_000000.nc");
    barrier();
}

TEST_P(AfterOneStep, CallsInTheWrongOrderAreToldAtOnceAndBreakNothing) {
    EXPECT_EQ(error_of([&] { out->put({.name = "eta"}); }).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of([&] { out->end_step(); }).code(), ErrorCode::invalid_argument);
    write_step(*out, comm, 1, eta_and_mask);
    out->begin_step(2);
    EXPECT_EQ(error_of([&] { out->begin_step(3); }).code(), ErrorCode::invalid_argument);
    const Error error = error_of([&] { out->close(); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("was not ended"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out->close();
    EXPECT_EQ(error_of([&] { out->begin_step(3); }).code(), ErrorCode::invalid_argument);
    barrier();
    EXPECT_EQ(names_in(folder), (std::vector<std::string>{"run_000000.nc", "run_000001.nc"}));
    barrier();
}

INSTANTIATE_TEST_SUITE_P(Errors, AfterOneStep, ::testing::ValuesIn(writing_methods()), name_of_method);

/// Errors of create.
class CreateTest : public RanksTest {
  protected:
    Error error_of_create(const std::string& prefix, OutputOptions options = {}) {
        const Error error =
            error_of([&] { const Output out = Output::create(comm, prefix, std::move(options)); });
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        return error;
    }
};

TEST_F(CreateTest, AnUnknownMethodNamesTheNearest) {
    const Error error = error_of_create(folder + "/run", {.method = "pipelned"});
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("did you mean 'pipelined'?"), std::string::npos) << error.what();
}

TEST_F(CreateTest, AMethodLikeNoOtherNamesThemAll) {
    const Error error = error_of_create(folder + "/run", {.method = "carrier pigeons"});
    EXPECT_NE(std::string(error.what()).find("auto, none, per-process, root"), std::string::npos)
        << error.what();
}

TEST_F(CreateTest, TimeUnitsThatNoReaderCouldReadAreAnError) {
    const OutputOptions leap{.time_units = "days since 2001-02-29", .calendar = "noleap"};
    for (const OutputOptions& options : {OutputOptions{.time_units = "weeks since 2000-01-01"}, leap}) {
        const Error error = error_of_create(folder + "/run", options);
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("time_units '"), std::string::npos) << error.what();
    }
    barrier();
    EXPECT_TRUE(names_in(folder).empty());
}

TEST_F(CreateTest, AnAddressOfOtherStorageIsAnError) {
    for (const char* prefix : {"gs://bucket/run", "az://c/run", "abfs://c@a/run", "https://h/run",
                               "S3://b/run", "file:///tmp/run", "nfs://server/run", "a+b.c-1://x/run"}) {
        const Error error = error_of_create(prefix);
        EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
        const std::string scheme = std::string(prefix).substr(0, std::string(prefix).find(':'));
        const std::string said = std::string(prefix) + ": there is no storage '" + scheme + "' here";
        EXPECT_NE(std::string(error.what()).find(said), std::string::npos) << error.what();
        EXPECT_FALSE(fs::exists(scheme + ":"));
        EXPECT_EQ(error_of([&] { (void)Input::open(comm, prefix); }).code(), ErrorCode::unsupported);
        EXPECT_EQ(error_of([&] { (void)gather_pieces(prefix); }).code(), ErrorCode::unsupported);
    }
    const Error stage = error_of_create(folder + "/run", {.hints = {{"hakobi_stage", "gs://bucket/stage"}}});
    EXPECT_EQ(stage.code(), ErrorCode::unsupported) << stage.what();
}

TEST_F(CreateTest, AHintsWrongValueIsAnErrorOfEveryMethodThatTakesThem) {
    for (const char* method : {"none", "per-process", "root", "pipelined", "writers", "auto"}) {
        const Error error =
            error_of_create(folder + "/run", {.method = method, .hints = {{"cb_buffer_size", "x"}}});
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << method;
        EXPECT_NE(std::string(error.what()).find("cb_buffer_size"), std::string::npos)
            << method << error.what();
    }
}

TEST_F(CreateTest, AFolderBelowARegularFileIsAnError) {
    if (is_rank_0()) std::ofstream(folder + "/file") << "x";
    barrier();
    EXPECT_EQ(error_of_create(folder + "/file/run").code(), ErrorCode::exists);
    EXPECT_EQ(error_of_create(folder + "/file/deeper/run").code(), ErrorCode::not_found);
    EXPECT_EQ(error_of_create(folder + "/file/much/deeper/run").code(), ErrorCode::not_found);
}

TEST_F(CreateTest, FoldersAreMadeAtAnyDepth) {
    EXPECT_NO_THROW(Output::create(comm, folder + "/a/b//c/run").close());
    if (is_rank_0()) {
        EXPECT_TRUE(fs::is_directory(folder + "/a/b/c"));
    }
}

TEST_F(CreateTest, AFolderWhereNoFileCanBeMadeIsAnError) {
    const Error error = error_of_create("/proc/run");
    EXPECT_TRUE(error.code() == ErrorCode::not_found || error.code() == ErrorCode::permission)
        << error.what();
}

TEST_F(CreateTest, AFolderInTheWayOfTheFirstFileIsAnError) {
    if (is_rank_0()) fs::create_directories(folder + "/run_000000.nc");
    barrier();
    EXPECT_EQ(error_of_create(folder + "/run").code(), ErrorCode::exists);
}

TEST_F(CreateTest, OptionsThatDifferBetweenRanksAreAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    const bool is_last = comm.rank() == comm.size() - 1;
    EXPECT_EQ(error_of_create(folder + "/run", {.sync = is_last}).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of_create(folder + "/run", {.title = is_last ? "other" : "title"}).code(),
              ErrorCode::invalid_argument);
    EXPECT_EQ(error_of_create(folder + (is_last ? "/walk" : "/run")).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of_create(folder + "/run", {.method = is_last ? "rot" : "root"}).code(),
              ErrorCode::invalid_argument);
}

TEST_F(CreateTest, OptionsOutOfRangeAreAnError) {
    EXPECT_EQ(error_of_create("").code(), ErrorCode::invalid_argument);
    EXPECT_EQ(error_of_create(folder + "/").code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error_of_create(folder + "/new\\slash").what()).find("has a backslash"),
              std::string::npos);
    EXPECT_EQ(error_of_create(folder + "/run", {.buffer_bytes = 1}).code(), ErrorCode::invalid_argument);
    const auto text = [&](OutputOptions options) {
        return std::string(error_of_create(folder + "/run", std::move(options)).what());
    };
    EXPECT_NE(text({.hidden = {.on = true}, .asynchronous = false}).find("hidden.on and asynchronous"),
              std::string::npos);
    EXPECT_NE(text({.hidden = {.bytes = 5 << 20}, .asynchronous_bytes = 6 << 20})
                  .find("hidden.bytes and asynchronous_bytes"),
              std::string::npos);
    EXPECT_NE(text({.hidden = {.bytes = 5}}).find("hidden.bytes (asynchronous_bytes) is 5"),
              std::string::npos);
    EXPECT_EQ(error_of_create(folder + "/run", {.method = "writers", .writer_stride = -1}).code(),
              ErrorCode::invalid_argument);
    EXPECT_EQ(
        error_of_create(folder + "/run", {.axes = {{.name = "no good", .units = "m", .values = {1}}}}).code(),
        ErrorCode::invalid_argument);
}

/// A file system for one step, where this process may mount one.
class FullTest : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    void SetUp() override {
        RanksTest::SetUp();
        int mounted = 1;
        if (is_rank_0()) {
            fs::create_directory(folder + "/small");
            mounted = mount("none", (folder + "/small").c_str(), "tmpfs", 0, "size=16m") == 0 ? 1 : 0;
        }
        MPI_Bcast(&mounted, 1, MPI_INT, 0, comm.handle());
        is_mounted_ = mounted != 0;
        if (!is_mounted_) GTEST_SKIP() << "may not mount a small file system";
    }
    void TearDown() override {
        barrier();
        if (is_rank_0() && is_mounted_) umount2((folder + "/small").c_str(), MNT_DETACH);
        RanksTest::TearDown();
    }

    void expect_full(const Error& error) const {
        // An MPI library's own collective I/O may report less than the reason.
        const bool may_be_vague = GetParam() == "parallel" && error.code() != ErrorCode::ok;
        EXPECT_TRUE(error.code() == ErrorCode::no_space || may_be_vague) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    }
    /// Collective. Goes on behind a first step, where half as much space is left as a step of values that no
    /// codec makes smaller takes. The first is whole before: hidden, it could lose its space to the next
    /// one's faster ranks.
    Output after_a_whole_step(OutputOptions options) const {
        const std::string small = folder + "/small";
        {
            Output first = Output::create(comm, small + "/run", options);
            write_step(first, comm, 0, whole);
            first.close();
        }
        barrier();
        if (is_rank_0()) {
            struct statvfs space {};
            EXPECT_EQ(statvfs(small.c_str(), &space), 0);
            const std::uint64_t size_bytes = (space.f_blocks - space.f_bfree) * space.f_frsize + (1U << 20);
            const std::string size = "size=" + std::to_string(size_bytes);
            EXPECT_EQ(mount("none", small.c_str(), "tmpfs", MS_REMOUNT, size.c_str()), 0);
        }
        barrier();
        options.if_exists = IfExists::resume;
        return Output::create(comm, small + "/run", options);
    }
    /// Collective. After the output is closed: its first step alone is there, with the bytes that it had.
    void expect_first_step_whole(const OutputOptions& options) {
        barrier();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder + "/small"), std::vector<std::string>{"run_000000.nc"});
            EXPECT_TRUE(bytes_of_file(folder + "/small/run_000000.nc") ==
                        reference_file(options, 0, whole, comm.size()));
        }
        barrier();
    }

    const std::vector<TestField> whole = {{"eta", ValueType::int64, {512, 512}, even_blocks}};

  private:
    bool is_mounted_ = false;
};

TEST_P(FullTest, AFullFileSystemIsTheSameErrorEverywhereAndTheFirstStepStaysWhole) {
    Output out = after_a_whole_step({.method = GetParam()});
    const Error error = error_of([&] {
        write_step(out, comm, 1, whole);
        out.close();  // where the step was hidden, here
    });
    expect_full(error);
    out.close();
    expect_first_step_whole({});
}

TEST_P(FullTest, AFullFileSystemInACompressedStepIsTheSameErrorEverywhereAndTheFirstStepStaysWhole) {
    const OutputOptions options = {.method = GetParam(), .compression = "deflate"};
    Output out = after_a_whole_step(options);
    const Block block = even_blocks(whole[0].global, comm.size(), comm.rank());
    std::vector<std::int64_t> noise(static_cast<std::size_t>(block.num_elements()));
    auto state = static_cast<std::uint64_t>(comm.rank()) + 1;
    for (std::int64_t& value : noise) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        value = static_cast<std::int64_t>(state ^ (state >> 29));
    }
    const Error error = error_of([&] {
        out.begin_step(0.25);
        out.put({.name = "eta", .units = "m", .block = block, .data = std::span(std::as_const(noise))});
        out.end_step();
        out.close();  // where the step was hidden, here
    });
    expect_full(error);
    out.close();
    expect_first_step_whole(options);
}

INSTANTIATE_TEST_SUITE_P(Errors, FullTest, ::testing::ValuesIn(writing_methods()), name_of_method);

}  // namespace
}  // namespace hakobi::test
