// The file that shows a series as one data set.
#include "series/series_view.hpp"

#include <functional>

#include "fixture.hpp"
#include "format/netcdf4/netcdf4.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const std::vector<TestField> small_fields = {{"eta", ValueType::float64, {7, 5}, even_blocks},
                                             {"u", ValueType::float32, {3, 7, 5}, uneven_rows}};

class ViewTest : public RanksTest {
  protected:
    [[nodiscard]] std::string prefix() const { return folder + "/run"; }
    [[nodiscard]] std::string view() const { return prefix() + ".series.nc"; }

    void write_run(OutputOptions options, int first, int last,
                   const std::vector<TestField>& written = small_fields) {
        Output out = Output::create(comm, prefix(), std::move(options));
        for (int step = first; step <= last; ++step) write_step(out, comm, step, written);
        out.close();
        barrier();
    }

    [[nodiscard]] format::SeriesDescription shown() const {
        Result<format::SeriesDescription> read = format::netcdf4().series()->read_series(view());
        EXPECT_TRUE(read.ok()) << read.status().text();
        return read.ok() ? std::move(read).value() : format::SeriesDescription{};
    }
    /// Rank 0 finds these steps, with all fields, and nothing that was not finished.
    void expect_shown(const std::vector<std::int64_t>& numbers) {
        if (is_rank_0()) {
            const format::SeriesDescription series = shown();
            EXPECT_EQ(series.numbers, numbers);
            std::vector<double> times;
            for (const std::int64_t number : numbers) times.push_back(0.25 * static_cast<double>(number));
            EXPECT_EQ(series.times, times);
            for (const std::string& name : names_in(folder)) EXPECT_FALSE(name.ends_with(".part")) << name;
        }
        barrier();
    }
};

TEST_F(ViewTest, EveryMethodShowsItsWholeSteps) {
    for (const std::string& method : writing_methods()) {
        write_run({.method = method, .if_exists = IfExists::replace}, 0, 2);
        expect_shown({0, 1, 2});
        if (is_rank_0()) {
            const format::SeriesDescription series = shown();
            ASSERT_EQ(series.shown.fields.size(), 2U) << method;
            EXPECT_EQ(series.shown.fields[0].units, "m");
            EXPECT_EQ(series.shown.fields[1].global, (std::vector<std::int64_t>{3, 7, 5}));
            EXPECT_EQ(series.sources[1].file, "run_000001.nc");
        }
        barrier();
    }
}

TEST_F(ViewTest, AResumedRunGoesOnWithIt) {
    write_run({.method = "root"}, 0, 1);
    write_run({.method = "pipelined", .if_exists = IfExists::resume}, 2, 3);
    expect_shown({0, 1, 2, 3});
    if (is_rank_0()) fs::remove(view());
    barrier();
    write_run({.method = "root", .if_exists = IfExists::resume}, 4, 4);
    expect_shown({0, 1, 2, 3, 4});
    // A step that somebody took away is not shown any more.
    if (is_rank_0()) fs::remove(folder + "/run_000001.nc");
    barrier();
    write_run({.method = "root", .if_exists = IfExists::resume}, 5, 5);
    expect_shown({0, 2, 3, 4, 5});
    write_run({.method = "root", .if_exists = IfExists::replace}, 0, 0);
    expect_shown({0});
}

TEST_F(ViewTest, PiecesAreShownWhenTheyAreGathered) {
    write_run({.method = "per-process", .keep_pieces = true}, 0, 1);
    if (is_rank_0()) {
        EXPECT_FALSE(fs::exists(view()));
        (void)gather_pieces(folder);
    }
    barrier();
    expect_shown({0, 1});
}

TEST_F(ViewTest, FieldsComeAndGo) {
    const std::vector<TestField> other = {{"eta", ValueType::float64, {7, 6}, even_blocks},
                                          {"v", ValueType::int32, {7}, even_blocks}};
    Output out = Output::create(comm, prefix(), {.method = "root"});
    write_step(out, comm, 0, small_fields);
    write_step(out, comm, 1, {small_fields[0]});
    write_step(out, comm, 2, other);
    write_step(out, comm, 3, small_fields);
    write_step(out, comm, 4, {other[0]});
    out.close();
    barrier();
    expect_shown({0, 1, 2, 3, 4});
    write_run({.method = "root", .if_exists = IfExists::resume}, 5, 5);
    expect_shown({0, 1, 2, 3, 4, 5});
    if (!is_rank_0()) return;
    const format::SeriesDescription series = shown();
    ASSERT_EQ(series.shown.fields.size(), 3U);
    using Has = std::vector<bool>;
    // Values of another shape than those before are in their step's file alone.
    EXPECT_EQ(series.has, (std::vector<Has>{{true, true, false, true, false, true},
                                            {true, false, false, true, false, true},
                                            {false, false, true, false, false, false}}));
    EXPECT_EQ(series.shown.fields[2].name, "v");
}

TEST_F(ViewTest, ManyStepsAreShownByChapters) {
    constexpr auto most_sources = static_cast<std::int64_t>(series::SeriesView::most_sources);
    constexpr std::int64_t num_steps = most_sources + 8;
    const std::vector<TestField> small = {{"eta", ValueType::float64, {2, 3}, even_blocks}};
    const std::string chapter = folder + "/run.series.000000.nc";
    write_run({.method = "root"}, 0, most_sources - 1, small);
    if (is_rank_0()) {
        EXPECT_EQ(std::ssize(shown().sources), most_sources);
        EXPECT_FALSE(fs::exists(chapter));
    }
    barrier();
    write_run({.method = "root", .if_exists = IfExists::resume}, most_sources, num_steps - 2, small);
    // A chapter that a crash left damaged is made anew.
    if (is_rank_0()) fs::resize_file(chapter, fs::file_size(chapter) / 2);
    barrier();
    write_run({.method = "root", .if_exists = IfExists::resume}, num_steps - 1, num_steps - 1, small);
    if (is_rank_0()) {
        const format::SeriesDescription series = shown();
        ASSERT_EQ(std::ssize(series.numbers), num_steps);
        ASSERT_LE(series.sources.size(), 1 + series::SeriesView::steps_between);
        EXPECT_EQ(series.sources.front().file, "run.series.000000.nc");
        EXPECT_GE(series.sources.front().num_records, most_sources);
        EXPECT_EQ(series.sources.back().file, series::step_path("run", num_steps - 1, ".nc"));
        EXPECT_TRUE(format::netcdf4().series()->read_series(chapter).ok());
    }
    barrier();
    write_run({.method = "root", .if_exists = IfExists::replace}, 0, 0, small);
    if (is_rank_0()) {
        EXPECT_EQ(names_in(folder), (std::vector<std::string>{"run_000000.nc"}));
    }
    expect_shown({0});
}

TEST_F(ViewTest, WhatACrashLeftOfItIsMadeAnew) {
    write_run({.method = "root"}, 0, 0);
    std::vector<std::function<void(std::uintmax_t)>> tears;
    for (const int left : {0, 1, 4, 7, 8, 9, 47, 48, 96, 400, 4095})
        tears.emplace_back(
            [this, left](std::uintmax_t) { fs::resize_file(view(), static_cast<std::uintmax_t>(left)); });
    tears.insert(tears.end(), {[&](std::uintmax_t size) {
                                   fs::resize_file(view(), 0);
                                   fs::resize_file(view(), size);
                               },
                               [&](std::uintmax_t size) { fs::resize_file(view(), size - 1); },
                               [&](std::uintmax_t size) { fs::resize_file(view(), size / 2); }});
    std::vector<std::int64_t> steps = {0};
    for (const auto& tear : tears) {
        if (is_rank_0()) tear(fs::file_size(view()));
        barrier();
        const int next = static_cast<int>(steps.size());
        write_run({.method = "pipelined", .if_exists = IfExists::resume}, next, next);
        steps.push_back(next);
        expect_shown(steps);
    }
}

TEST_F(ViewTest, WhatOthersHaveCalledSoIsNotReplaced) {
    if (is_rank_0()) std::ofstream(view()) << "mine";
    barrier();
    const Error error =
        error_of([&] { (void)Output::create(comm, prefix(), {.if_exists = IfExists::replace}); });
    EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::exists)) << error.what();
    EXPECT_NE(std::string(error.what()).find("run.series.nc"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error)) << error.what();
    if (is_rank_0()) {
        EXPECT_EQ(bytes_of_file(view()), (std::vector<char>{'m', 'i', 'n', 'e'}));
        fs::remove(view());
    }
    barrier();
    write_run({}, 0, 0);
    expect_shown({0});
}

TEST_F(ViewTest, WholeFilesOfOthersAreNotTakenForTornOnes) {
    // A whole file of HDF5's, and texts that only begin like one.
    write_run({.method = "root"}, 0, 0);
    const std::vector<std::function<void()>> others = {
        [&] { fs::copy_file(folder + "/run_000000.nc", view(), fs::copy_options::overwrite_existing); },
        [&] { std::ofstream(view()) << "\x89HDX is no signature"; },
        [&] { std::ofstream(view()) << "CDF\x01"; },
        [&] { std::ofstream(view()) << std::string(5000, 'x'); }};
    for (const auto& put : others) {
        if (is_rank_0()) put();
        barrier();
        const Error error = error_of(
            [&] { (void)Output::create(comm, prefix(), {.method = "root", .if_exists = IfExists::resume}); });
        EXPECT_EQ(to_string(error.code()), to_string(ErrorCode::exists)) << error.what();
        barrier();
    }
}

TEST_F(ViewTest, WhatAKilledRunLeftOfItIsRemoved) {
    write_run({.method = "root"}, 0, 0);
    if (is_rank_0()) std::ofstream(view() + ".0123456789abcdef.part") << "half of it";
    barrier();
    write_run({.method = "root", .if_exists = IfExists::resume}, 1, 1);
    expect_shown({0, 1});
}

}  // namespace
}  // namespace hakobi::test
