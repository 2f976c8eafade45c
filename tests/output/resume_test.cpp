// A run that goes on after the steps of an earlier one.
#include <set>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

class ResumeTest : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    [[nodiscard]] std::string prefix() const { return folder + "/run"; }
    [[nodiscard]] std::string file(int step) const { return folder + "/" + file_name("netcdf4", step); }

    void write_run(OutputOptions options, int first, int last,
                   const std::vector<TestField>& written = eta_and_u) {
        Output out = Output::create(comm, prefix(), std::move(options));
        for (int step = first; step <= last; ++step) write_step(out, comm, step, written);
        out.close();
        barrier();
    }

    /// The folder holds these steps alone, with the bytes that a run without a break gives.
    void expect_steps(int num_steps) {
        barrier();
        if (is_rank_0()) {
            std::vector<std::string> names;
            for (int step = 0; step < num_steps; ++step) {
                names.push_back(file_name("netcdf4", step));
                EXPECT_TRUE(bytes_of_file(file(step)) == reference_file({}, step, eta_and_u, comm.size()))
                    << step;
            }
            EXPECT_EQ(names_in(folder), names);
        }
        barrier();
    }

    /// The first step of a run that resumes two steps is refused with this text, and they stay whole.
    void expect_refused(OutputOptions options, const std::vector<TestField>& put, const std::string& text) {
        options.method = GetParam();
        options.if_exists = IfExists::resume;
        Output out = Output::create(comm, prefix(), options);
        const Error error = error_of([&] { write_step(out, comm, 2, put); });
        EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::invalid_argument)) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        EXPECT_NE(std::string(error.what()).find("run_000001.nc"), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        out.close();
        expect_steps(2);
    }
};

TEST_P(ResumeTest, AnyMethodGoesOnAfterAnyOther) {
    for (const std::string& before : writing_methods()) {
        write_run({.method = before, .if_exists = IfExists::replace}, 0, 1);
        write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 3);
        expect_steps(4);
    }
}

TEST_P(ResumeTest, PiecesThatNobodyGatheredAreStepsToo) {
    write_run({.method = "per-process", .keep_pieces = true}, 0, 1);
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 2);
    expect_steps(3);
}

TEST_P(ResumeTest, WhatAKilledRunLeftIsRemoved) {
    write_run({.method = "root"}, 0, 1);
    write_run({.method = "per-process", .if_exists = IfExists::resume, .keep_pieces = true}, 2, 2);
    if (is_rank_0()) {
        std::ofstream(file(2) + ".0123456789abcdef.part") << "half a step";
        fs::resize_file(file(2) + ".pieces/000000.piece", 100);
    }
    barrier();
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 2);
    expect_steps(3);
}

TEST_P(ResumeTest, AnotherGridIsRefused) {
    write_run({.method = "root"}, 0, 1);
    const auto changed = [](std::size_t f, auto change) {
        std::vector<TestField> put = eta_and_u;
        change(put[f]);
        return put;
    };
    expect_refused({},
                   changed(0,
                           [](TestField& field) {
                               field.global = {23, 38};
                           }),
                   "field eta has 23 x 38 points, not 23 x 37");
    expect_refused({}, changed(1, [](TestField& field) { field.type = ValueType::float64; }),
                   "field u is double, not float");
    expect_refused({}, changed(1, [](TestField& field) { field.name = "w"; }), "no field w");
    expect_refused({}, {eta_and_u[0]}, "field u is not put");
    expect_refused({.time_units = "days since 2000-01-01"}, eta_and_u, "days since 2000-01-01");
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 2);
    expect_steps(3);
}

TEST_P(ResumeTest, AnotherCalendarIsRefusedAndItsOtherNameIsNot) {
    const char* const days = "days since 2000-01-01";
    write_run({.method = "root", .time_units = days, .calendar = "noleap"}, 0, 0);
    for (const std::string other : {"360_day", ""}) {
        Output out = Output::create(
            comm, prefix(),
            {.method = GetParam(), .time_units = days, .calendar = other, .if_exists = IfExists::resume});
        const Error error = error_of([&] { write_step(out, comm, 1, eta_and_u); });
        const std::string named = other.empty() ? "standard" : other;
        EXPECT_NE(std::string(error.what()).find("the calendar '" + named + "', not in 'noleap'"),
                  std::string::npos)
            << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        out.close();
    }
    write_run(
        {.method = GetParam(), .time_units = days, .calendar = "365_day", .if_exists = IfExists::resume}, 1,
        1);
}

TEST_P(ResumeTest, OtherCoordinatesAreRefused) {
    const std::vector<TestField> put = {{"eta", ValueType::float64, {5, 4}, even_blocks}};
    const auto axes = [](double last) {
        return std::vector<Axis>{{.name = "lat", .units = "degrees_north", .values = {0, 1, 2, 3, 4}},
                                 {.name = "lon", .units = "degrees_east", .values = {0, 1, 2, last}}};
    };
    write_run({.method = "root", .axes = axes(3)}, 0, 0, put);
    Output out = Output::create(comm, prefix(),
                                {.method = GetParam(), .axes = axes(3.5), .if_exists = IfExists::resume});
    const Error error = error_of([&] { write_step(out, comm, 1, put); });
    EXPECT_NE(std::string(error.what()).find("axis lon has other coordinates"), std::string::npos)
        << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
    write_run({.method = GetParam(), .axes = axes(3), .if_exists = IfExists::resume}, 1, 1, put);
}

TEST_P(ResumeTest, AnotherFormatIsRefused) {
    write_run({.method = "root"}, 0, 1);
    const Error error = error_of([&] {
        auto out = Output::create(comm, prefix(),
                                  {.method = GetParam(), .format = "vtkhdf", .if_exists = IfExists::resume});
    });
    EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::invalid_argument)) << error.what();
    EXPECT_NE(std::string(error.what()).find("run_000001.nc: the format of this run is vtkhdf"),
              std::string::npos)
        << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    expect_steps(2);
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 2);
    expect_steps(3);
}

TEST_P(ResumeTest, AStepMayBeLikeAnyEarlierOne) {
    write_run({.method = "root"}, 0, 1);
    {
        Output out = Output::create(comm, prefix(), {.method = GetParam(), .if_exists = IfExists::resume});
        write_step(out, comm, 2, eta_and_u);
        write_step(out, comm, 3, {eta_and_u[0]});  // only the first of a run is compared
        out.close();
    }
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 4, 4);
    if (is_rank_0()) {
        EXPECT_TRUE(bytes_of_file(file(4)) == reference_file({}, 4, eta_and_u, comm.size()));
    }
}

TEST_P(ResumeTest, ALastStepThatCannotBeReadIsNamedAndStays) {
    write_run({.method = "root"}, 0, 1);
    if (is_rank_0()) std::ofstream(file(1)) << "not a step";
    barrier();
    const Error error = error_of([&] {
        auto out = Output::create(comm, prefix(), {.method = GetParam(), .if_exists = IfExists::resume});
    });
    EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::format)) << error.what();
    EXPECT_NE(std::string(error.what()).find("run_000001.nc"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    if (is_rank_0()) {
        EXPECT_EQ(fs::file_size(file(1)), 10U);
        EXPECT_EQ(names_in(folder).size(), 2U);
    }
    barrier();
}

TEST_P(ResumeTest, AStepAfterWhichNumbersEndIsNamedAndStays) {
    write_run({.method = "root"}, 0, 1);
    const std::string last = "run_9223372036854775807.nc";
    if (is_rank_0()) fs::copy_file(file(1), folder + "/" + last);
    barrier();
    const Error error = error_of([&] {
        auto out = Output::create(comm, prefix(), {.method = GetParam(), .if_exists = IfExists::resume});
    });
    EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::exists)) << error.what();
    EXPECT_NE(std::string(error.what()).find(last + ": its step's number leaves none"), std::string::npos)
        << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    if (is_rank_0()) {
        EXPECT_TRUE(fs::remove(folder + "/" + last));
    }
    barrier();
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 2, 2);
    expect_steps(3);
}

TEST_P(ResumeTest, APrefixWithoutStepsBeginsAtTheFirst) {
    write_run({.method = GetParam(), .if_exists = IfExists::resume}, 0, 1);
    expect_steps(2);
}

TEST_P(ResumeTest, WhoIsRefusedChangesNothing) {
    write_run({.method = GetParam()}, 0, 1);
    const std::string left = file(2) + ".0123456789abcdef.part";
    if (is_rank_0()) std::ofstream(left) << "half a step";
    barrier();
    EXPECT_EQ(error_of([&] { write_run({.method = GetParam()}, 0, 0); }).code(), ErrorCode::exists);
    EXPECT_TRUE(fs::exists(left));
}

/// Series with a static field, in which each element is `depth`.
class ResumedStatics : public RanksTest {
  protected:
    /// Steps [first, last); the static field is put in steps that are `with_static`.
    void write(OutputOptions options, int first, int last, float depth, std::set<int> with_static) {
        options.if_exists = IfExists::resume;
        Output out = Output::create(comm, folder + "/run", options);
        const Block block = even_blocks(std::vector<std::int64_t>{80, 70}, comm.size(), comm.rank());
        const std::vector<float> depths(static_cast<std::size_t>(block.num_elements()), depth);
        for (int step = first; step < last; ++step) {
            out.begin_step(step);
            out.put({.name = "eta", .block = block, .data = std::span<const float>(depths)});
            if (with_static.contains(step))
                out.put({.name = "depth",
                         .block = block,
                         .data = std::span<const float>(depths),
                         .is_static = true});
            out.end_step();
        }
        out.close();
        barrier();
    }
    [[nodiscard]] float depth_of(std::int64_t step) const {
        Input in = Input::open(comm, folder + "/run");
        float read = 0;
        in.read({.name = "depth",
                 .step = step,
                 .block = {{80, 70}, {79, 69}, {1, 1}},
                 .data = std::span(&read, 1)});
        in.close();
        return read;
    }
    [[nodiscard]] std::vector<std::int64_t> steps() const {
        Input in = Input::open(comm, folder + "/run");
        return {in.steps().begin(), in.steps().end()};
    }
};

/// It came later than the first step, which the resumed run's are like without it.
TEST_F(ResumedStatics, AreNotLeftOutOfLaterSteps) {
    const std::string top = folder;
    for (const OutputOptions& options :
         {OutputOptions{.method = "root", .format = "netcdf4"},
          OutputOptions{.format = "netcdf4", .steps_per_file = all_steps}, OutputOptions{.format = "zarr"}}) {
        const bool has_store = options.format == "zarr";
        folder = top + "/" + options.format + std::to_string(options.steps_per_file);
        write(options, 0, 3, 3, {1});
        const Error error = error_of([&] { write(options, 3, 5, 3, {}); });
        EXPECT_EQ(to_string(error.code()),
                  to_string(has_store ? ErrorCode::ok : ErrorCode::invalid_argument));
        EXPECT_NE(std::string(error.what()).find(has_store ? "" : "the static field depth is not put"),
                  std::string::npos)
            << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
        barrier();
        EXPECT_EQ(steps().size(), has_store ? 5U : 3U);
        if (!has_store) write(options, 3, 5, 3, {3});
        for (const int step : {1, 2, 3, 4}) EXPECT_EQ(depth_of(step), 3) << step;
        barrier();
    }
    folder = top;
}

TEST_F(ResumedStatics, OfOneArrayHaveOneValue) {
    const std::string top = folder;
    for (const std::string compression : {"none", "zstd"}) {
        for (const bool is_hidden : {false, true}) {
            folder = top + "/" + compression + (is_hidden ? ".hidden" : "");
            const OutputOptions options{.method = "pipelined",
                                        .format = "zarr",
                                        .compression = compression,
                                        .hidden = {.on = is_hidden}};
            write(options, 0, 2, 3, {0, 1});
            write(options, 2, 4, 3, {2});
            const Error error = error_of([&] { write(options, 4, 6, 7, {4}); });
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << error.what();
            barrier();
            EXPECT_EQ(steps(), (std::vector<std::int64_t>{0, 1, 2, 3}));
            EXPECT_EQ(depth_of(0), 3);
            write(options, 4, 5, 3, {4});
            EXPECT_EQ(steps().size(), 5U);
            if (is_rank_0()) {
                EXPECT_EQ(names_in(folder), std::vector<std::string>{"run.zarr"});
            }
        }
    }
    folder = top;
}

TEST_F(ResumedStatics, ThatAreLostKeepWholePiecesFromBeingSteps) {
    write({.method = "per-process", .format = "zarr", .keep_pieces = true}, 0, 3, 3, {0, 2});
    const std::string second = folder + "/run_000001.zarr.pieces";
    if (is_rank_0()) fs::resize_file(folder + "/run_000000.zarr.pieces/000000.piece", 100);
    barrier();
    const Error error = error_of([&] { write({.method = "root", .format = "zarr"}, 0, 1, 3, {0}); });
    EXPECT_NE(std::string(error.what()).find("static field depth"), std::string::npos) << error.what();
    EXPECT_TRUE(fs::exists(second));
    barrier();
    if (is_rank_0()) {
        const GatherResult result = gather_pieces(folder);
        EXPECT_EQ(result.files.size(), 1U);  // step 2, which has it
        ASSERT_EQ(result.incomplete.size(), 2U);
        EXPECT_NE(result.incomplete[1].find("static field depth"), std::string::npos) << result.incomplete[1];
        EXPECT_TRUE(fs::exists(second));
    }
    barrier();
    EXPECT_EQ(depth_of(2), 3);
}

INSTANTIATE_TEST_SUITE_P(Methods, ResumeTest, ::testing::ValuesIn(writing_methods()), name_of_method);

}  // namespace
}  // namespace hakobi::test
