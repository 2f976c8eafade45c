// Outputs from one put per field and step: their values are those of extended precision, whatever the method
// and the decomposition, and a run that goes on from a checkpoint writes the bytes of one that never stopped.
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

const std::vector<std::int64_t> extents = {31, 17};
constexpr std::int64_t num_steps = 13;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

using BlockOf = Block (*)(std::span<const std::int64_t>, int, int);

double time_of(std::int64_t step) {
    return 0.5 * static_cast<double>(step);
}

/// Temperature at an element: some is missing, in some steps.
double kelvins(std::int64_t step, std::int64_t element) {
    if (element % 11 == 3 && step % 2 == 0) return nan;
    if (element == 5) return nan;
    return 250 + static_cast<double>((element * 7919 + step * 104729) % 100003) / 1000.1;
}

std::vector<double> kelvins_of(const Block& block, std::int64_t step) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < block.count[0]; ++i)
        for (std::int64_t j = 0; j < block.count[1]; ++j)
            values.push_back(kelvins(step, (block.start[0] + i) * extents[1] + block.start[1] + j));
    return values;
}

/// A program with four outputs.
class Program {
  public:
    Program(const Comm& comm, const std::string& folder, const OutputOptions& options, IfExists if_exists,
            std::optional<double> resume_at = {})
        : comm_(comm),
          outs(Outputs::create(
              comm, folder + "/state",
              {.time_units = "hours since 2000-01-01", .if_exists = if_exists, .resume_at = resume_at})) {
        t_ = outs.define({.name = "t", .units = "K", .standard_name = "air_temperature", .global = extents});
        wet_ = outs.define({.name = "wet", .type = ValueType::int16, .global = extents});
        rain_ = outs.define({.name = "rain", .units = "mm"});
        height_ = outs.define({.name = "height",
                               .units = "m",
                               .type = ValueType::float32,
                               .global = extents,
                               .is_static = true});
        outs.add(folder + "/raw", options, "", {{.of = "t"}, {.of = "height"}});
        outs.add(folder + "/two", options, "4 steps",
                 {{.of = "t", .cell_method = "mean"}, {.of = "wet", .cell_method = "maximum"}});
        outs.add(folder + "/six", options, "3h",
                 {{.of = "t", .cell_method = "time: mean"},
                  {.of = "t", .cell_method = "minimum"},
                  {.of = "t", .cell_method = "maximum", .name = "hottest", .store_as = "float32"},
                  {.of = "t", .cell_method = "variance"},
                  {.of = "t", .cell_method = "range"},
                  {.of = "t", .cell_method = "count above 300"},
                  {.of = "t"},
                  {.of = "height"},
                  {.of = "rain", .cell_method = "sum"}});
        outs.add(folder + "/all", options, "run", {{.of = "t", .cell_method = "maximum"}});
    }
    void run(std::int64_t first, std::int64_t last, BlockOf block_of) {
        const Block block = block_of(extents, comm_.size(), comm_.rank());
        for (std::int64_t step = first; step <= last; ++step) {
            outs.begin_step(time_of(step));
            const std::vector<double> values = kelvins_of(block, step);
            put(t_, block, std::span(values));
            std::vector<std::int16_t> wet;
            for (const double value : values)
                wet.push_back(static_cast<std::int16_t>(std::isnan(value) ? -1 : std::lround(value) % 7));
            put(wet_, block, std::span(std::as_const(wet)));
            const double rain = static_cast<double>(step);
            outs.put(rain_, {}, std::span(&rain, 1));
            std::vector<float> heights;
            if (step == first) {
                for (const double value : kelvins_of(block, 1)) heights.push_back(static_cast<float>(value));
                put(height_, block, std::span(std::as_const(heights)));
            }
            outs.end_step();
            placed.end_step();
        }
    }

  private:
    void put(FieldId id, const Block& block, Field::Data data) {
        const Field field = placed.field({.name = "field", .block = block, .data = data});
        outs.put(id, field.block, field.data,
                 {.ghosts = field.ghosts,
                  .strides = field.strides,
                  .memory = field.memory,
                  .stream = field.stream});
    }

    Comm comm_;

  public:
    Outputs outs;

  private:
    FieldId t_{}, wet_{}, rain_{}, height_{};
};

class OutputsTest : public RanksTest {
  protected:
    /// The files of a run, but for its checkpoints.
    static Files files_of(const std::string& folder) {
        Files files = files_in(folder);
        std::erase_if(files, [](const auto& file) { return file.first.starts_with("state"); });
        return files;
    }
    std::string sub_folder(const std::string& name) const {
        std::string path = folder + "/" + name;
        if (is_rank_0()) fs::create_directories(path);
        barrier();
        return path;
    }
    static std::string difference(const Files& a, const Files& b) {
        for (const auto& [name, bytes] : b)
            if (!a.contains(name)) return name + " is missing";
        for (const auto& [name, bytes] : a)
            if (!b.contains(name) || b.at(name) != bytes) return name + " differs";
        return {};
    }
    std::vector<double> read(Input& in, const std::string& name, std::int64_t step) const {
        const std::vector<std::int64_t>& shape = in.field(name, step).shape;
        std::int64_t num = 1;
        for (const std::int64_t extent : shape) num *= extent;
        std::vector<double> values(static_cast<std::size_t>(num));
        in.read_independent({.name = name, .step = step, .data = std::span(values)});
        return values;
    }
};

std::string text_of(const Attributes& attributes, const char* name) {
    const auto found = attributes.find(name);
    return found == attributes.end() ? "" : std::get<std::string>(found->second);
}

TEST_F(OutputsTest, AreOfExtendedPrecision) {
    const std::string runs = sub_folder("runs");
    Program program(comm, runs, {.method = "pipelined"}, IfExists::fail);
    program.run(0, num_steps - 1, even_blocks);
    EXPECT_NE(program.outs.explain().find("missing values were left out"), std::string::npos);
    program.outs.close();
    program.outs.close();
    Input in = Input::open(comm, runs + "/six");
    EXPECT_EQ(in.times().size(), 2U);
    EXPECT_EQ(in.times()[1], 6);
    const std::vector<InputField>& fields = in.fields(1);
    EXPECT_EQ(fields.size(), 10U);
    EXPECT_EQ(text_of(in.field("t_mean", 1).attributes, "cell_methods"), "time: mean");
    EXPECT_EQ(text_of(in.field("t", 1).attributes, "cell_methods"), "time: point");
    EXPECT_EQ(text_of(in.field("height", 1).attributes, "cell_methods"), "");
    EXPECT_EQ(text_of(in.field("t_variance", 1).attributes, "units"), "K2");
    EXPECT_EQ(text_of(in.field("hottest", 1).attributes, "standard_name"), "air_temperature");
    EXPECT_EQ(text_of(in.field("t_count", 1).attributes, "standard_name"), "");
    EXPECT_EQ(read(in, "time_bnds", 0), (std::vector<double>{0, 3}));
    EXPECT_EQ(read(in, "time_bnds", 1), (std::vector<double>{3, 6}));
    EXPECT_EQ(read(in, "rain_sum", 0), (std::vector<double>{1 + 2 + 3 + 4 + 5 + 6}));
    EXPECT_EQ(read(in, "rain_sum", 1), (std::vector<double>{7 + 8 + 9 + 10 + 11 + 12}));
    const auto mean = read(in, "t_mean", 1), least = read(in, "t_minimum", 1), count = read(in, "t_count", 1);
    for (std::int64_t e = 0; e < extents[0] * extents[1]; ++e) {
        long double sum = 0;
        double lowest = nan, num = 0, above = 0;
        for (std::int64_t step = 7; step <= 12; ++step) {
            const double value = kelvins(step, e);
            if (std::isnan(value)) continue;
            sum += static_cast<long double>(value);
            num += 1;
            above += value > 300 ? 1 : 0;
            lowest = std::isnan(lowest) || value < lowest ? value : lowest;
        }
        const auto i = static_cast<std::size_t>(e);
        if (num == 0) {
            EXPECT_TRUE(std::isnan(mean[i]) && std::isnan(least[i]) && std::isnan(count[i])) << e;
            continue;
        }
        EXPECT_NEAR(mean[i], static_cast<double>(sum / static_cast<long double>(num)), 6e-14) << e;
        EXPECT_EQ(least[i], lowest) << e;
        EXPECT_EQ(count[i], above) << e;
    }
    in.close();
    Input four = Input::open(comm, runs + "/two");
    EXPECT_EQ(std::vector(four.times().begin(), four.times().end()), (std::vector<double>{1.5, 3.5, 5.5}));
    EXPECT_EQ(read(four, "time_bnds", 1), (std::vector<double>{1.5, 3.5}));
    four.close();
    Input all = Input::open(comm, runs + "/all");
    EXPECT_EQ(std::vector(all.times().begin(), all.times().end()), (std::vector<double>{6}));
    EXPECT_EQ(read(all, "time_bnds", 0), (std::vector<double>{0, 6}));
    all.close();
}

TEST_F(OutputsTest, HaveTheSameBytesByAllMethodsAndDecompositions) {
    const std::string first = sub_folder("first");
    {
        Program program(comm, first, {.method = "root"}, IfExists::fail);
        program.run(0, num_steps - 1, even_blocks);
        program.outs.close();
    }
    const Files expected = files_of(first);
    EXPECT_EQ(expected.size(), 13U + 3U + 2U + 1U);
    int num = 0;
    for (const std::string& method : writing_methods()) {
        for (const BlockOf block_of : {uneven_rows, backward_columns}) {
            const std::string other = sub_folder(std::to_string(num++));
            Program program(comm, other, {.method = method}, IfExists::fail);
            program.run(0, num_steps - 1, block_of);
            program.outs.close();
            barrier();
            EXPECT_EQ(difference(files_of(other), expected), "") << method;
        }
    }
}

TEST_F(OutputsTest, GoOnFromACheckpoint) {
    for (const std::string format : {"netcdf4", "zarr"}) {
        const std::string whole = sub_folder("whole_" + format);
        {
            Program program(comm, whole, {.format = format}, IfExists::fail);
            program.run(0, num_steps - 1, even_blocks);
            program.outs.close();
        }
        const Files expected = files_of(whole);
        for (std::int64_t kept = 0; kept + 1 < num_steps; ++kept) {
            const std::string name = std::to_string(kept) + "_" + format;
            const std::string parts = sub_folder(name);
            {
                Program program(comm, parts, {.format = format}, IfExists::fail);
                EXPECT_FALSE(program.outs.resume_time());
                program.run(0, kept, uneven_rows);
                program.outs.checkpoint();
                program.run(kept + 1, std::min(kept + kept % 3, num_steps - 2), uneven_rows);
            }  // nobody closes it
            Program program(comm, parts, {.format = format}, IfExists::resume);
            ASSERT_EQ(program.outs.resume_time(), time_of(kept));
            program.run(kept + 1, num_steps - 1, backward_columns);
            program.outs.close();
            barrier();
            EXPECT_EQ(difference(files_of(parts), expected), "") << name;
        }
    }
}

TEST_F(OutputsTest, KeepTwoCheckpoints) {
    const std::string runs = sub_folder("runs");
    {
        Program program(comm, runs, {}, IfExists::fail);
        for (std::int64_t step = 0; step < 4; ++step) {
            program.run(step, step, even_blocks);
            program.outs.checkpoint();
        }
    }
    EXPECT_EQ(error_of([&] { Program(comm, runs, {}, IfExists::fail); }).code(), ErrorCode::exists);
    const Error error = error_of([&] { Program(comm, runs, {}, IfExists::resume, time_of(1)); });
    EXPECT_EQ(error.code(), ErrorCode::not_found);
    EXPECT_NE(std::string(error.what()).find("1.0"), std::string::npos) << error.what();
    {
        Program program(comm, runs, {}, IfExists::resume, time_of(2));
        EXPECT_EQ(program.outs.resume_time(), time_of(2));
        EXPECT_EQ(error_of([&] { program.outs.begin_step(time_of(2)); }).code(), ErrorCode::invalid_argument);
        program.outs.close();
    }
    {
        Outputs other = Outputs::create(
            comm, runs + "/state", {.time_units = "hours since 2000-01-01", .if_exists = IfExists::resume});
        const FieldId t = other.define({.name = "t", .global = extents});
        other.add(runs + "/other", {}, "3h", {{.of = "t", .cell_method = "mean"}});
        (void)t;
        const Error differs = error_of([&] { other.begin_step(time_of(4)); });
        EXPECT_EQ(differs.code(), ErrorCode::invalid_argument);
        EXPECT_NE(std::string(differs.what()).find("t_mean of t (time: mean)"), std::string::npos)
            << differs.what();
        other.close();
    }
    Program program(comm, runs, {}, IfExists::replace);
    EXPECT_FALSE(program.outs.resume_time());
    program.outs.close();
    barrier();
    EXPECT_TRUE(names_in(runs).empty() || !names_in(runs)[0].ends_with(".nc")) << names_in(runs)[0];
}

TEST_F(OutputsTest, RefuseWhatIsWrong) {
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {});
    const FieldId t = outs.define({.name = "t", .units = "K", .global = extents});
    (void)outs.define({.name = "big", .type = ValueType::int64, .global = extents});
    (void)outs.define({.name = "land", .global = extents, .is_static = true});
    (void)outs.define({.name = "p", .on = On::points});
    const auto expect = [&](ErrorCode code, const std::string& text, const std::function<void()>& call) {
        const Error error = error_of(call);
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    };
    const auto refuses = [&](ErrorCode code, const std::string& text, const OutputOptions& options,
                             const std::string& every, const std::vector<DerivedField>& fields) {
        Outputs other = Outputs::create(comm, runs + "/other", {});
        (void)other.define({.name = "t", .units = "K", .global = extents});
        (void)other.define({.name = "big", .type = ValueType::int64, .global = extents});
        (void)other.define({.name = "land", .global = extents, .is_static = true});
        (void)other.define({.name = "p", .on = On::points});
        (void)other.define({.name = "curved", .global = extents, .coordinates = {"lat"}});
        (void)other.define({.name = "packed", .global = extents, .attributes = {{"scale_factor", 0.5}}});
        (void)other.define({.name = "other", .global = extents, .attributes = {{"missing_value", -9.0}}});
        (void)other.define(
            {.name = "flux", .global = extents, .attributes = {{"cell_methods", "time: sum"}}});
        expect(code, text, [&] { other.add(runs + "/wrong", options, every, fields); });
        other.close();
    };
    refuses(ErrorCode::not_found, "no field tt", {}, "6h", {{.of = "tt", .cell_method = "mean"}});
    refuses(ErrorCode::unsupported, "64 bits", {}, "6h", {{.of = "big", .cell_method = "mean"}});
    refuses(ErrorCode::invalid_argument, "static", {}, "6h", {{.of = "land", .cell_method = "mean"}});
    refuses(ErrorCode::unsupported, "on a mesh", {}, "6h", {{.of = "p", .cell_method = "mean"}});
    refuses(ErrorCode::unsupported, "meshes", {.format = "vtkhdf"}, "6h", {{.of = "t"}});
    refuses(ErrorCode::invalid_argument, "each step", {}, "", {{.of = "t", .cell_method = "mean"}});
    refuses(ErrorCode::invalid_argument, "no field has", {}, "run", {{.of = "t"}});
    refuses(ErrorCode::invalid_argument, "one step", {}, "run",
            {{.of = "t"}, {.of = "t", .cell_method = "mean"}});
    refuses(ErrorCode::invalid_argument, "none of point", {}, "6h", {{.of = "t", .cell_method = "median"}});
    refuses(ErrorCode::invalid_argument, "6 weeks", {}, "6 weeks", {{.of = "t"}});
    refuses(ErrorCode::invalid_argument, "time_units", {.time_units = "days"}, "6h", {{.of = "t"}});
    refuses(ErrorCode::invalid_argument, "t_mean", {}, "6h",
            {{.of = "t", .cell_method = "mean"}, {.of = "t", .cell_method = "mean"}});
    refuses(ErrorCode::invalid_argument, "no fields", {}, "6h", {});
    refuses(ErrorCode::invalid_argument, "no field has a cell_method", {}, "run", {{.of = "land"}});
    refuses(ErrorCode::invalid_argument, "lat", {}, "6h", {{.of = "curved", .cell_method = "mean"}});
    refuses(ErrorCode::invalid_argument, "scale_factor", {}, "6h", {{.of = "packed", .cell_method = "sum"}});
    refuses(ErrorCode::invalid_argument, "missing_value", {}, "6h", {{.of = "other", .cell_method = "sum"}});
    refuses(ErrorCode::invalid_argument, "speaks of time", {}, "6h", {{.of = "flux", .cell_method = "mean"}});
    expect(ErrorCode::invalid_argument, "fill value has another type", [&] {
        (void)outs.define({.name = "u", .type = ValueType::float32, .global = extents, .fill_value = 1e20});
    });
    expect(ErrorCode::invalid_argument, "another output's", [&] {
        Outputs other = Outputs::create(comm, runs + "/other", {});
        (void)other.define({.name = "t", .units = "K", .global = extents});
        other.add(runs + "/other.1", {}, "6h", {{.of = "t"}});
    });
    expect(ErrorCode::invalid_argument, "defined already",
           [&] { (void)outs.define({.name = "t", .global = extents}); });

    outs.add(runs + "/run", {}, "10", {{.of = "t", .cell_method = "mean"}});
    const Block block = even_blocks(extents, comm.size(), comm.rank());
    const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1.0);
    expect(ErrorCode::invalid_argument, "no step is open", [&] { outs.end_step(); });
    expect(ErrorCode::invalid_argument, "no step has ended", [&] { outs.checkpoint(); });
    outs.begin_step(0);
    expect(ErrorCode::invalid_argument, "not been ended", [&] { outs.begin_step(1); });
    expect(ErrorCode::invalid_argument, "first step", [&] {
        outs.end_step();
        outs.add(runs + "/late", {}, "10", {{.of = "t"}});
    });
    expect(ErrorCode::invalid_argument, "not later", [&] { outs.begin_step(0); });
    expect(ErrorCode::invalid_argument, "not later", [&] { outs.begin_step(nan); });
    expect(ErrorCode::invalid_argument, "no step was at its end", [&] { outs.begin_step(10.5); });
    outs.begin_step(5);
    outs.put(t, block, std::span(values));
    outs.end_step();
    outs.begin_step(10);
    outs.put(t, block, std::span(values));
    // It was missing in the first step, and is an error where the interval ends.
    const Error error = error_of([&] { outs.end_step(); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("was not put"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    expect(ErrorCode::failed, "failed", [&] { outs.begin_step(11); });
    outs.close();
    expect(ErrorCode::invalid_argument, "closed", [&] { outs.begin_step(12); });
}

TEST_F(OutputsTest, ReportAnyRanksMistakeOnAll) {
    const std::string runs = sub_folder("runs");
    for (const bool has_other_blocks : {false, true}) {
        Outputs outs = Outputs::create(comm, runs + "/state", {.if_exists = IfExists::replace});
        const FieldId t = outs.define({.name = "t", .units = "K", .global = extents});
        outs.add(runs + "/run", {}, "2 steps", {{.of = "t", .cell_method = "maximum"}});
        const bool is_last = comm.rank() == comm.size() - 1;
        Error error(ErrorCode::ok, "");
        for (int step = 0; step < 2; ++step) {
            outs.begin_step(step);
            Block block = even_blocks(extents, comm.size(), comm.rank());
            if (is_last && has_other_blocks && step == 1) block.count[0] = 0;
            const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1.0);
            if (!is_last || has_other_blocks || step == 1) outs.put(t, block, std::span(values));
            error = error_of([&] { outs.end_step(); });
        }
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
        EXPECT_EQ(error.rank(), comm.size() - 1);
        EXPECT_NE(std::string(error.what()).find(has_other_blocks ? "blocks are others" : "was not put"),
                  std::string::npos)
            << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        outs.close();
    }
}

TEST_F(OutputsTest, ReportMistakesAtACheckpoint) {
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {});
    const FieldId t = outs.define({.name = "t", .units = "K", .global = extents});
    outs.add(runs + "/run", {}, "100", {{.of = "t", .cell_method = "mean"}});
    outs.begin_step(0);
    if (comm.rank() == comm.size() - 1) outs.put(FieldId{77}, {}, std::span<const double>());
    outs.put(t, {}, std::span<const double>());
    outs.end_step();
    const Error error = error_of([&] { outs.checkpoint(); });
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("FieldId"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    EXPECT_NE(std::string(error_of([&] { outs.begin_step(1); }).what()).find("FieldId"), std::string::npos);
    outs.close();
}

/// Two grids whose dimensions have one name, a variance of packed values, and a checkpoint that is damaged.
TEST_F(OutputsTest, GoOnFromTheOtherCheckpoint) {
    const std::string runs = sub_folder("runs");
    const auto run = [&](IfExists if_exists, int first, int last) {
        Outputs outs = Outputs::create(comm, runs + "/state", {.if_exists = if_exists});
        const FieldId air = outs.define({.name = "air",
                                         .units = "K",
                                         .global = {8},
                                         .dims = {"x"},
                                         .store_as = "int16:range=180..330,saturate"});
        const FieldId sea = outs.define({.name = "sea", .units = "K", .global = {5}, .dims = {"x"}});
        outs.add(runs + "/air", {}, "8",
                 {{.of = "air", .cell_method = "variance"}, {.of = "air", .cell_method = "mean"}});
        outs.add(runs + "/sea", {}, "8", {{.of = "sea", .cell_method = "mean"}});
        const std::optional<double> from = outs.resume_time();
        for (int step = from ? static_cast<int>(*from) + 1 : first; step <= last; ++step) {
            const double value = 280 + step % 2;
            const std::vector<double> values(8, value);
            outs.begin_step(step);
            for (const FieldId id : {air, sea}) {
                const Block block =
                    split(std::vector<std::int64_t>{id == air ? 8 : 5}, comm.size(), comm.rank());
                outs.put(id, block, std::span(values).first(static_cast<std::size_t>(block.count[0])));
            }
            outs.end_step();
            if (step < last) outs.checkpoint();
        }
        if (last == 8) outs.close();
        return from;
    };
    EXPECT_FALSE(run(IfExists::fail, 0, 4));  // ends without close: checkpoints of 2 and 3
    barrier();
    if (is_rank_0()) {
        const std::string newest = runs + "/state.1_000000.nc";
        ASSERT_TRUE(fs::exists(newest));
        fs::resize_file(newest, 100);
    }
    barrier();
    EXPECT_EQ(run(IfExists::resume, 0, 8), 2.0);
    Input in = Input::open(comm, runs + "/air");
    for (const double value : read(in, "air_variance", -1)) EXPECT_EQ(value, 0.25);
    EXPECT_EQ(in.field("air_variance").type, "double");
    EXPECT_EQ(in.field("air_mean").type, "short");
    in.close();
    Input sea = Input::open(comm, runs + "/sea");
    EXPECT_EQ(read(sea, "sea_mean", -1), std::vector<double>(5, 280.5));
    sea.close();
}

TEST_F(OutputsTest, RemoveNoOtherSeries) {
    const std::string runs = sub_folder("runs");
    Output other = Output::create(comm, runs + "/run.0");
    write_step(other, comm, 0, eta_and_mask);
    other.close();
    for (const IfExists if_exists : {IfExists::fail, IfExists::resume}) {
        const Error error =
            error_of([&] { (void)Outputs::create(comm, runs + "/run", {.if_exists = if_exists}); });
        EXPECT_EQ(error.code(), ErrorCode::exists) << error.what();
    }
    EXPECT_TRUE(fs::exists(runs + "/run.0_000000.nc"));
}

TEST_F(OutputsTest, ReportDefinitionsThatDiffer) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {});
    const bool is_last = comm.rank() == comm.size() - 1;
    (void)outs.define(
        {.name = "t", .type = is_last ? ValueType::int64 : ValueType::float64, .global = extents});
    const Error error =
        error_of([&] { outs.add(runs + "/run", {}, "6h", {{.of = "t", .cell_method = "mean"}}); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    outs.close();
}

TEST_F(OutputsTest, SayWhatIsWrongWithAPut) {
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {});
    const FieldId t = outs.define({.name = "t", .global = extents});
    outs.add(runs + "/run", {}, "1 steps", {{.of = "t"}});
    outs.add(runs + "/means", {}, "2 steps", {{.of = "t", .cell_method = "mean"}});
    const Block block = even_blocks(extents, comm.size(), comm.rank());
    const std::vector<float> values(static_cast<std::size_t>(block.num_elements()));
    outs.begin_step(0);
    outs.put(t, block, std::span(values));
    const Error error = error_of([&] { outs.end_step(); });
    EXPECT_NE(std::string(error.what()).find("another type"), std::string::npos) << error.what();
    outs.close();
}

TEST_F(OutputsTest, NeedNoOutput) {
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {});
    outs.begin_step(0);
    outs.end_step();
    outs.checkpoint();
    outs.close();
}

TEST_F(OutputsTest, BeginWhereTheRunSaysSo) {
    const std::string runs = sub_folder("runs");
    Outputs outs = Outputs::create(comm, runs + "/state", {.begin_time = 0.0});
    const FieldId t = outs.define({.name = "t", .global = {1}});
    outs.add(runs + "/run", {}, "4", {{.of = "t", .cell_method = "mean"}});
    // Weighted by 2, 1 and 1.
    for (const double time : {2.0, 3.0, 4.0}) {
        outs.begin_step(time);
        const double value = time == 2 ? 10 : 30;
        if (is_rank_0())
            outs.put(t, {{1}, {0}, {1}}, std::span(&value, 1));
        else
            outs.put(t, {}, std::span<const double>());
        outs.end_step();
    }
    outs.close();
    Input in = Input::open(comm, runs + "/run");
    EXPECT_EQ(read(in, "t_mean", 0), (std::vector<double>{20}));
    EXPECT_EQ(read(in, "time_bnds", 0), (std::vector<double>{0, 4}));
    in.close();
}

}  // namespace
}  // namespace hakobi::test
