// The contract of every output method with every format: the same bytes, at every rank count, however the
// fields are cut.
#include "fixture.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

std::vector<double> ramp(std::int64_t length) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < length; ++i) values.push_back(0.5 * static_cast<double>(i));
    return values;
}

const std::vector<Axis> grid = {
    {.name = "level", .units = "1", .values = ramp(5)},
    {.name = "lat", .units = "degrees_north", .standard_name = "latitude", .values = ramp(23)},
    {.name = "lon", .units = "degrees_east", .standard_name = "longitude", .values = ramp(37)}};

/// Small and large, 2-D and 3-D, all types, all ways to cut; `depth` and `mask` stand between megabytes.
const std::vector<TestField> grid_fields = {
    {"eta", ValueType::float64, {23, 37}, uneven_rows},
    {"u", ValueType::float32, {5, 23, 37}, even_blocks},
    {"mask", ValueType::int32, {23, 37}, backward_columns},
    {"count", ValueType::int64, {5, 23, 37}, backward_columns},
    {"inner", ValueType::float64, {23, 37}, inner_blocks},
};
const std::vector<TestField> large_fields = {
    {"h", ValueType::float64, {301, 503}, even_blocks},
    {"depth", ValueType::int32, {301}, uneven_rows},
    {"w", ValueType::float64, {7, 201, 101}, backward_columns},
    {"mask", ValueType::float32, {41, 3}, even_blocks},
    {"v", ValueType::int64, {7, 201, 101}, inner_blocks},
};

/// Many chunks on one rank and none on another, chunks of several ranks' values with holes, and one too small
/// for chunks.
const std::vector<TestField> compressed_fields = {
    {"h", ValueType::float64, {401, 703}, uneven_rows},
    {"w", ValueType::float32, {17, 101, 233}, backward_columns},
    {"mask", ValueType::int8, {41, 3}, even_blocks},
    {"v", ValueType::int64, {301, 503}, inner_blocks},
    {"few", ValueType::int16, {9000}, even_blocks},
};

class EveryWay : public RanksTest, public ::testing::WithParamInterface<Way> {
  protected:
    [[nodiscard]] static std::string file(int step) { return file_name(GetParam().format, step); }

    /// Writes three steps and compares each file with the reference.
    void expect_reference_bytes(OutputOptions options, const std::vector<TestField>& fields) {
        options.method = GetParam().method;
        options.format = GetParam().format;
        const std::string prefix = folder + "/run";
        Output out = Output::create(comm, prefix, options);
        EXPECT_EQ(out.method(), GetParam().method);
        for (std::int64_t step = 0; step < 3; ++step) write_step(out, comm, step, fields);
        out.close();
        if (is_rank_0()) {
            EXPECT_EQ(names_in(folder), names_of_steps(options.format, 3));
            for (std::int64_t step = 0; step < 3; ++step) {
                const std::string path = folder + "/" + file(static_cast<int>(step));
                // EXPECT_TRUE, not EXPECT_EQ: a difference would print megabytes.
                EXPECT_TRUE(bytes_of_step(path, fields) == reference_file(options, step, fields, comm.size()))
                    << path;
            }
        }
        barrier();
    }
};

TEST_P(EveryWay, WritesTheReferenceBytesOfSmallFieldsOnAxes) {
    expect_reference_bytes({.axes = grid,
                            .title = "a test",
                            .time_units = "seconds since 2011-03-11 05:46:24",
                            .calendar = "noleap"},
                           grid_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesOfLargeFieldsWithoutAxes) {
    expect_reference_bytes({}, large_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesThroughTheSmallestBuffer) {
    expect_reference_bytes({.writer_stride = 3, .buffer_bytes = 4096}, large_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesSyncedHiddenAndNot) {
    expect_reference_bytes({.sync = true}, large_fields);  // hidden where it can be
    if (is_rank_0()) fs::remove_all(folder);
    barrier();
    expect_reference_bytes({.asynchronous = false}, large_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesThroughTheLeastMemoryForHiding) {
    expect_reference_bytes({.hidden = {.bytes = 1 << 20}, .buffer_bytes = 64 << 10}, large_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesWhenFieldsAndBlocksChangeBetweenSteps) {
    const std::string prefix = folder + "/run";
    std::vector<std::vector<TestField>> steps = {grid_fields, {grid_fields[1], grid_fields[0]}, grid_fields};
    steps[2][0].block_of = backward_columns;
    OutputOptions options{.method = GetParam().method, .format = GetParam().format, .axes = grid};
    Output out = Output::create(comm, prefix, options);
    for (std::size_t step = 0; step < steps.size(); ++step)
        write_step(out, comm, static_cast<std::int64_t>(step), steps[step]);
    out.close();
    if (is_rank_0()) {
        for (std::size_t step = 0; step < steps.size(); ++step) {
            const std::string path = folder + "/" + file(static_cast<int>(step));
            EXPECT_TRUE(bytes_of_step(path, steps[step]) ==
                        reference_file(options, static_cast<std::int64_t>(step), steps[step], comm.size()))
                << path;
        }
    }
    barrier();
}

TEST_P(EveryWay, WritesTheReferenceBytesFromSeveralNodes) {
    setenv("HAKOBI_RANKS_PER_NODE", "2", 1);
    Comm nodes = Comm::duplicate(MPI_COMM_WORLD);
    unsetenv("HAKOBI_RANKS_PER_NODE");
    std::swap(comm, nodes);
    expect_reference_bytes({}, large_fields);
    std::swap(comm, nodes);
    nodes.free();
}

TEST_P(EveryWay, WritesTheReferenceBytesOfCompressedFields) {
    if (!format::find_format(GetParam().format).value()->holds_chunks())
        GTEST_SKIP() << "the format holds no chunks";
    expect_reference_bytes({.compression = "deflate"}, compressed_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesOfRoundedFieldsAsynchronously) {
    if (!format::find_format(GetParam().format).value()->holds_chunks())
        GTEST_SKIP() << "the format holds no chunks";
    expect_reference_bytes({.compression = "zstd:3", .significant_bits = 9}, compressed_fields);
}

TEST_P(EveryWay, WritesTheReferenceBytesOfEveryType) {
    std::vector<TestField> fields;
    for (int type = 0; type <= static_cast<int>(format::last_value_type); ++type)
        fields.push_back({"f" + std::to_string(type), static_cast<ValueType>(type), {23, 37}, even_blocks});
    expect_reference_bytes({}, fields);
}

/// The same files from memory of other forms: ghosts around the block, every second value, many blocks a
/// rank.
TEST_P(EveryWay, WritesTheReferenceBytesFromGhostsStridesAndManyBlocks) {
    const std::vector<TestField> fields = {{"ghosted", ValueType::float64, {23, 37}, even_blocks},
                                           {"spaced", ValueType::int32, {23, 37}, backward_columns},
                                           {"cut", ValueType::float32, {23, 37}, uneven_rows}};
    std::vector<Values> values;
    for (std::size_t f = 0; f < fields.size(); ++f)
        values.emplace_back(f, fields[f], 0, fields[f].block_of(fields[f].global, comm.size(), comm.rank()));
    OutputOptions options{.method = GetParam().method, .format = GetParam().format};
    Output out = Output::create(comm, folder + "/run", options);
    out.begin_step(0);
    const auto given = [&](std::size_t f) {
        return Field{
            .name = fields[f].name, .units = "m", .block = values[f].block(), .data = values[f].data()};
    };

    Field ghosted = given(0);
    const Block& block = ghosted.block;
    const std::int64_t width = block.count[1] + 6;
    std::vector<double> with_ghosts(static_cast<std::size_t>((block.count[0] + 4) * width), -1);
    const auto plain = std::get<std::span<const double>>(ghosted.data);
    for (std::int64_t n = 0; n < block.num_elements(); ++n) {
        const std::int64_t row = n / block.count[1], column = n % block.count[1];
        with_ghosts[static_cast<std::size_t>((row + 2) * width + column + 3)] =
            plain[static_cast<std::size_t>(n)];
    }
    ghosted.data = with_ghosts;
    ghosted.ghosts = {2, 3};
    out.put(placed.field(ghosted));

    Field spaced = given(1);
    const auto dense = std::get<std::span<const std::int32_t>>(spaced.data);
    std::vector<std::int32_t> every_second(2 * dense.size(), -1);
    for (std::size_t n = 0; n < dense.size(); ++n) every_second[2 * n] = dense[n];
    spaced.data = every_second;
    spaced.strides = {2 * spaced.block.count[1], 2};
    out.put(placed.field(spaced));

    // Quarters side by side: their rows alternate in the file.
    const Field whole = given(2);
    const std::int64_t rows = whole.block.count[0], columns = whole.block.count[1];
    const auto data = std::get<std::span<const float>>(whole.data);
    for (const std::int64_t right : {1, 0}) {
        for (const std::int64_t low : {0, 1}) {
            Field part = whole;
            part.block.start[0] += low * (rows / 2);
            part.block.start[1] += right * (columns / 2);
            part.block.count[0] = low != 0 ? rows - rows / 2 : rows / 2;
            part.block.count[1] = right != 0 ? columns - columns / 2 : columns / 2;
            const std::int64_t first = low * (rows / 2) * columns + right * (columns / 2);
            part.data = part.block.num_elements() == 0 ? std::span<const float>()
                                                       : data.subspan(static_cast<std::size_t>(first));
            part.strides = {columns, 1};
            out.put(placed.field(part));
        }
    }
    out.end_step();
    placed.end_step();
    out.close();
    if (is_rank_0()) {
        EXPECT_TRUE(bytes_of_step(folder + "/" + file(0), fields) ==
                    reference_file(options, 0, fields, comm.size()));
    }
    barrier();
}

TEST_P(EveryWay, WritesAStepWithoutFieldsAndOneWithoutValues) {
    const std::vector<TestField> nothing = {{"eta", ValueType::float64, {4, 4}, [](auto global, int, int) {
                                                 return Block{{global.begin(), global.end()}, {0, 0}, {0, 0}};
                                             }}};
    OutputOptions options{.method = GetParam().method, .format = GetParam().format};
    Output out = Output::create(comm, folder + "/run", options);
    write_step(out, comm, 0, {});
    write_step(out, comm, 1, nothing);
    out.close();
    if (is_rank_0()) {
        EXPECT_TRUE(bytes_of_step(folder + "/" + file(0), {}) == reference_file(options, 0, {}, comm.size()));
        EXPECT_TRUE(bytes_of_step(folder + "/" + file(1), nothing) ==
                    reference_file(options, 1, nothing, comm.size()));
    }
    barrier();
}

TEST_P(EveryWay, CountsItsBytesAndReplacesFilesOfAnEarlierRun) {
    for (int run = 0; run < 2; ++run) {
        Output out = Output::create(comm, folder + "/deeper/run",
                                    {.method = GetParam().method,
                                     .format = GetParam().format,
                                     .axes = grid,
                                     .if_exists = run == 1 ? IfExists::replace : IfExists::fail});
        write_step(out, comm, 5 * run, grid_fields);
        std::int64_t bytes = out.times().bytes;
        out.close();
        out.close();
        MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_INT64_T, MPI_SUM, comm.handle());
        EXPECT_EQ(bytes, 23 * 37 * (8 + 5 * 4 + 4 + 5 * 8) + 21 * 35 * 8);
    }
    if (is_rank_0()) {
        EXPECT_TRUE(bytes_of_step(folder + "/deeper/" + file(0), grid_fields) ==
                    reference_file({.format = GetParam().format, .axes = grid}, 5, grid_fields, comm.size()));
    }
    barrier();
}

INSTANTIATE_TEST_SUITE_P(Output, EveryWay, ::testing::ValuesIn(every_way()), name_of_way);

class OutputTest : public RanksTest {};
class EveryMethod : public RanksTest, public ::testing::WithParamInterface<std::string> {};

TEST_F(OutputTest, NoneWritesNothingAndNeedsNoFolder) {
    Output out = Output::create(comm, "/proc/nowhere/run", {.method = "none"});
    write_step(out, comm, 0, grid_fields);
    out.close();
    EXPECT_EQ(out.method(), "none");
}

/// end_step returns before storage has the values, which may change at once; later calls give the files their
/// names.
TEST_P(EveryMethod, HidesStepsOrSaysThatItCannot) {
    OutputOptions options{.method = GetParam(), .asynchronous = true};
    const std::vector<TestField> fields = {{"eta", ValueType::float64, {200, 300}, backward_columns}};
    if (GetParam() == "parallel") {
        const Error error = error_of([&] { (void)Output::create(comm, folder + "/run", options); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string(error.what()).find("parallel"), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        options.asynchronous = {};
        Output out = Output::create(comm, folder + "/run", options);
        EXPECT_NE(out.explain().find("not hidden: MPI"), std::string::npos) << out.explain();
        out.close();
        return;
    }
    Output out = Output::create(comm, folder + "/run", options);
    EXPECT_NE(out.explain().find(GetParam() + ", hidden"), std::string::npos) << out.explain();
    constexpr std::int64_t num_steps = 12;  // more than any method lets drain at one time
    for (std::int64_t step = 0; step < num_steps; ++step) write_step(out, comm, step, fields);
    out.close();
    EXPECT_NE(out.explain().find("unhidden it would have waited"), std::string::npos) << out.explain();
    const OutputTimes times = out.times();
    EXPECT_GE(times.hidden_s, 0);
    EXPECT_LE(
        times.layout_s + times.encode_s + times.values_s + times.finish_s + times.gather_s + times.hidden_s,
        times.run_s);
    for (std::int64_t step = 0; is_rank_0() && step < num_steps; ++step) {
        const std::string path = folder + "/run_0000" + (step < 10 ? "0" : "") + std::to_string(step) + ".nc";
        EXPECT_TRUE(bytes_of_file(path) == reference_file(options, step, fields, comm.size())) << path;
    }
    barrier();
}

INSTANTIATE_TEST_SUITE_P(Output, EveryMethod, ::testing::ValuesIn(writing_methods()), name_of_method);

TEST_F(OutputTest, TheEnvironmentSaysWhetherToHideWhereTheCallerDoesNot) {
    setenv("HAKOBI_ASYNCHRONOUS", "0", 1);
    EXPECT_NE(Output::create(comm, folder + "/a").explain().find("not hidden"), std::string::npos);
    EXPECT_NE(Output::create(comm, folder + "/b", {.hidden = {.on = true}}).explain().find(", hidden"),
              std::string::npos);
    EXPECT_NE(Output::create(comm, folder + "/d", {.asynchronous = true}).explain().find(", hidden"),
              std::string::npos);
    setenv("HAKOBI_ASYNCHRONOUS", "maybe", 1);
    const Error error = error_of([&] { (void)Output::create(comm, folder + "/c"); });
    unsetenv("HAKOBI_ASYNCHRONOUS");
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_TRUE(is_same_everywhere(comm, error));
}

TEST_F(OutputTest, AutoIsNamedByTheMethodItChose) {
    const Output out = Output::create(comm, folder + "/run");
    EXPECT_EQ(out.method(), "pipelined");  // tried first
    EXPECT_NE(out.explain().find("auto: being chosen"), std::string::npos) << out.explain();
}

/// It changes its method on the way, also where blocks change, and every file is the reference's.
TEST_F(OutputTest, AutoTriesMethodsOnTheFirstStepsAndKeepsOne) {
    for (const std::optional<bool> asynchronous :
         {std::optional<bool>(), std::optional(true), std::optional(false)}) {
        OutputOptions options{.axes = grid, .asynchronous = asynchronous, .if_exists = IfExists::replace};
        Output out = Output::create(comm, folder + "/run", options);
        std::vector<TestField> fields = grid_fields;
        for (std::int64_t step = 0; step < 9; ++step) {
            if (step == 3) fields[0].block_of = backward_columns;
            write_step(out, comm, step, fields);
        }
        out.close();
        EXPECT_EQ(out.explain().find("being chosen"), std::string::npos) << out.explain();
        EXPECT_NE(out.explain().find("ms a step"), std::string::npos) << out.explain();
        std::string mine(out.method());
        mine.resize(20);
        std::string first = mine;
        MPI_Bcast(first.data(), 20, MPI_CHAR, 0, comm.handle());
        EXPECT_EQ(mine, first);
        for (std::int64_t step = 0; is_rank_0() && step < 9; ++step) {
            EXPECT_TRUE(bytes_of_file(folder + "/" + file_name("netcdf4", static_cast<int>(step))) ==
                        reference_file(options, step, grid_fields, comm.size()))
                << step;
        }
        barrier();
    }
}

TEST_F(OutputTest, TheStrideOfWritersDoesNotChangeTheFile) {
    for (const int stride : {1, 2, 5}) {
        OutputOptions options{
            .method = "writers", .axes = grid, .writer_stride = stride, .if_exists = IfExists::replace};
        Output out = Output::create(comm, folder + "/run", options);
        write_step(out, comm, 0, grid_fields);
        out.close();
        if (is_rank_0()) {
            EXPECT_TRUE(bytes_of_file(folder + "/run_000000.nc") ==
                        reference_file(options, 0, grid_fields, comm.size()))
                << stride;
        }
        barrier();
    }
}

}  // namespace
}  // namespace hakobi::test
