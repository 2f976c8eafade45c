// Who may write a prefix, and under which names.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

class OwnerTest : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    [[nodiscard]] std::string prefix() const { return folder + "/run"; }
    [[nodiscard]] std::string file(int step) const {
        return prefix() + "_00000" + std::to_string(step) + ".nc";
    }
    Error error_of_create(OutputOptions options = {}, const std::string& name = "run") {
        options.method = GetParam();
        const Error error =
            error_of([&] { const Output out = Output::create(comm, folder + "/" + name, options); });
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        return error;
    }
    void write_run(OutputOptions options, int first, int last) {
        options.method = GetParam();
        Output out = Output::create(comm, prefix(), options);
        for (int step = first; step <= last; ++step) write_step(out, comm, step, eta_and_u);
        out.close();
        barrier();
    }
    void expect_steps(int num_steps) {
        barrier();
        if (is_rank_0()) {
            std::vector<std::string> names;
            for (int step = 0; step < num_steps; ++step) {
                names.push_back("run_00000" + std::to_string(step) + ".nc");
                EXPECT_TRUE(bytes_of_file(file(step)) == reference_file({}, step, eta_and_u, comm.size()))
                    << step;
            }
            EXPECT_EQ(names_in(folder), names);
        }
        barrier();
    }
};

TEST_P(OwnerTest, StepsOfAnEarlierRunAreRefusedResumedOrReplaced) {
    write_run({}, 0, 2);
    const Error error = error_of_create();
    EXPECT_EQ(error.code(), ErrorCode::exists);
    EXPECT_NE(std::string(error.what()).find("files of 3 steps (run_000000.nc to run_000002.nc)"),
              std::string::npos)
        << error.what();
    EXPECT_EQ(error_of_create({.if_exists = static_cast<IfExists>(3)}).code(), ErrorCode::invalid_argument);
    expect_steps(3);
    write_run({.if_exists = IfExists::resume}, 3, 4);
    expect_steps(5);
    write_run({.if_exists = IfExists::replace}, 0, 1);
    expect_steps(2);
    EXPECT_EQ(error_of_create({}, "run_000001").code(), ErrorCode::ok) << "another prefix";
}

TEST_P(OwnerTest, ASecondRunIsToldWhoWritesThePrefix) {
    Output first = Output::create(comm, prefix(), {.method = GetParam()});
    for (const IfExists choice : {IfExists::fail, IfExists::replace}) {
        const Error error = error_of_create({.if_exists = choice});
        EXPECT_EQ(error.code(), ErrorCode::exists);
        EXPECT_NE(std::string(error.what()).find(": in use by "), std::string::npos) << error.what();
    }
    write_step(first, comm, 0, eta_and_u);
    first.close();
    expect_steps(1);
}

TEST_P(OwnerTest, LeftoversOfAKilledRunAreRemovedAndOthersFilesAreNot) {
    const std::string leftover = file(7) + ".0123456789abcdef.part";
    if (is_rank_0()) {
        std::ofstream(leftover) << "half a step";
        std::ofstream(folder + "/run.lock") << "hakobi lock: pid 1 on elsewhere since then\n";
        std::ofstream(folder + "/run_000007.nc.mine.part") << "not Hakobi's";
        std::ofstream(folder + "/runs_000007.nc.0123456789abcdef.part") << "another prefix's";
    }
    barrier();
    write_run({}, 0, 0);
    EXPECT_FALSE(fs::exists(leftover));
    EXPECT_EQ(names_in(folder), (std::vector<std::string>{"run_000000.nc", "run_000007.nc.mine.part",
                                                          "runs_000007.nc.0123456789abcdef.part"}));
    barrier();
}

TEST_P(OwnerTest, TrapsUnderTheNamesOfEarlierVersionsCatchNobody) {
    if (is_rank_0()) {
        std::ofstream(folder + "/target") << "precious";
        fs::create_symlink(folder + "/target", file(0) + ".part");
        ASSERT_EQ(mkfifo((file(1) + ".part").c_str(), 0666), 0);
    }
    barrier();
    write_run({}, 0, 1);
    if (is_rank_0()) {
        EXPECT_EQ(fs::file_size(folder + "/target"), 8U);
        for (const int step : {0, 1}) {
            EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(file(step))));
            EXPECT_TRUE(bytes_of_file(file(step)) == reference_file({}, step, eta_and_u, comm.size()));
        }
    }
    barrier();
}

TEST_P(OwnerTest, WhatComesIntoAStepsWayIsNotReplaced) {
    Output out = Output::create(comm, prefix(), {.method = GetParam()});
    write_step(out, comm, 0, eta_and_u);
    barrier();
    if (is_rank_0()) std::ofstream(file(1)) << "somebody else's";
    barrier();
    const Error error = error_of([&] {
        write_step(out, comm, 1, eta_and_u);
        out.close();
    });
    EXPECT_EQ(error.code(), ErrorCode::exists) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    (void)error_of([&] { out.close(); });
    barrier();
    if (is_rank_0()) {
        EXPECT_EQ(fs::file_size(file(1)), 15U);
    }
    barrier();
}

TEST_P(OwnerTest, PrefixesThatKeepNothingAreRefused) {
    for (const std::string name : {"null:run", "memory:run"}) {
        const Error error = error_of([&] { auto out = Output::create(comm, name, {.method = GetParam()}); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << name << ": " << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
    }
}

/// Two runs at once, each of half of the ranks: every file is of one of them alone, and who did not get the
/// prefix says so.
TEST_P(OwnerTest, TwoRunsOfOnePrefixAreNeverMixed) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks";
    const char* const text = std::getenv("HAKOBI_RACES");
    const int num_races = text != nullptr ? std::atoi(text) : 12;
    MPI_Comm half = MPI_COMM_NULL;
    const int run = comm.rank() % 2;
    MPI_Comm_split(comm.handle(), run, 0, &half);
    Comm mine = Comm::duplicate(half);
    constexpr int num_steps = 2;
    for (int race = 0; race < num_races && !has_any_rank_failed(); ++race) {
        SCOPED_TRACE(race);
        barrier();
        int has_written = 0;
        const Error error = error_of([&] {
            Output out = Output::create(
                mine, prefix(),
                {.method = GetParam(), .if_exists = race % 2 == 0 ? IfExists::replace : IfExists::fail});
            for (int step = 0; step < num_steps; ++step) write_step(out, mine, 10 * run + step, eta_and_u);
            out.close();
            has_written = 1;
        });
        EXPECT_TRUE(error.code() == ErrorCode::ok || error.code() == ErrorCode::exists) << error.what();
        EXPECT_TRUE(is_same_everywhere(mine, error));
        std::array<int, 2> written{};
        written[static_cast<std::size_t>(run)] = has_written;
        MPI_Allreduce(MPI_IN_PLACE, written.data(), 2, MPI_INT, MPI_MAX, comm.handle());
        if (is_rank_0()) {
            EXPECT_TRUE(written[0] != 0 || written[1] != 0);
            const auto is_of = [&](int r, int step) {
                return bytes_of_file(file(step)) == reference_file({}, 10 * r + step, eta_and_u, 1);
            };
            const int owner = is_of(0, 0) ? 0 : 1;
            EXPECT_NE(written[static_cast<std::size_t>(owner)], 0);
            for (int step = 0; step < num_steps; ++step) EXPECT_TRUE(is_of(owner, step));
            EXPECT_EQ(names_in(folder).size(), static_cast<std::size_t>(num_steps));
            for (int step = 0; step < num_steps; ++step) fs::remove(file(step));
        }
    }
    mine.free();
    MPI_Comm_free(&half);
}

INSTANTIATE_TEST_SUITE_P(Output, OwnerTest, ::testing::ValuesIn(writing_methods()), name_of_method);

}  // namespace
}  // namespace hakobi::test
