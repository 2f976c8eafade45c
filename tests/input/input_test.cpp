// The contract of Input: it returns the values that Output got, by any decomposition, from whole files and
// from pieces.
#include <cmath>
#include <hakobi/input.hpp>

#include "output/fixture.hpp"
#include "series/piece.hpp"
#include "series/step_file.hpp"
#include "series/steps_reader.hpp"
#include "storage/file.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

const std::vector<TestField> fields = {
    {"eta", ValueType::float64, {23, 37}, even_blocks},
    {"u", ValueType::float32, {5, 23, 37}, uneven_rows},
    {"mask", ValueType::int32, {23, 37}, backward_columns},
    {"count", ValueType::int64, {41}, uneven_rows},
    {"small", ValueType::int16, {23, 37}, even_blocks},
    {"byte", ValueType::uint8, {23, 37}, backward_columns},
    {"large", ValueType::uint64, {41}, uneven_rows},
};

class InputTest : public RanksTest {
  protected:
    [[nodiscard]] std::string prefix() const { return folder + "/run"; }
    void write(std::int64_t num_steps, OutputOptions options = {.method = "pipelined"},
               const std::vector<TestField>& which = fields) {
        Output out = Output::create(comm, prefix(), std::move(options));
        for (std::int64_t step = 0; step < num_steps; ++step) write_step(out, comm, step, which);
        out.close();
    }
    /// Reads every field of a step by the blocks that `block_of` cuts, and compares.
    void expect_values(Input& in, std::int64_t step, decltype(TestField::block_of) block_of, int num_ranks,
                       int rank, const std::vector<TestField>& which = fields) {
        for (std::size_t f = 0; f < which.size(); ++f) {
            const Values expected(f, which[f], step, block_of(which[f].global, num_ranks, rank));
            const std::vector<std::byte> found = read_bytes(in, which[f], step, expected.block());
            EXPECT_TRUE(found == expected.bytes()) << which[f].name << " of step " << step;
        }
    }
    static std::vector<std::byte> read_bytes(Input& in, const TestField& field, std::int64_t step,
                                             const Block& block) {
        const auto num = static_cast<std::size_t>(block.num_elements());
        std::vector<std::byte> bytes;
        visit(field.type, [&]<class T>(T) { bytes = read_as<T>(in, field, step, block, num); });
        return bytes;
    }
    template <class T>
    static std::vector<std::byte> read_as(Input& in, const TestField& field, std::int64_t step,
                                          const Block& block, std::size_t num) {
        std::vector<T> values(num);
        placed.read(in, {.name = field.name, .step = step, .block = block, .data = std::span(values)});
        const auto bytes = std::as_bytes(std::span(values));
        return {bytes.begin(), bytes.end()};
    }
    void expect_same_error(ErrorCode code, const std::string& text, const Error& error) {
        EXPECT_EQ(error.code(), code) << error.what();
        EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
    }
    void damage(const std::function<void()>& change) {
        barrier();
        if (is_rank_0()) change();
        barrier();
    }
};

TEST_F(InputTest, SaysWhatIsThere) {
    write(3,
          {.axes = {{.name = "z", .units = "1"},
                    {.name = "lat",
                     .units = "degrees_north",
                     .standard_name = "latitude",
                     .values = std::vector<double>(23, 1)},
                    {.name = "lon", .units = "degrees_east", .values = std::vector<double>(37, 2)}},
           .title = "a run",
           .time_units = "seconds since 2011-03-11",
           .calendar = "360_day"},
          {{"eta", ValueType::float64, {23, 37}, even_blocks},
           {"u", ValueType::float32, {5, 23, 37}, even_blocks}});
    Input in = Input::open(comm, prefix());
    EXPECT_EQ(std::vector<std::int64_t>(in.steps().begin(), in.steps().end()),
              (std::vector<std::int64_t>{0, 1, 2}));
    EXPECT_EQ(std::vector<double>(in.times().begin(), in.times().end()), (std::vector<double>{0, 0.25, 0.5}));
    EXPECT_EQ(in.time_units(), "seconds since 2011-03-11");
    EXPECT_EQ(in.calendar(), "360_day");
    ASSERT_EQ(in.fields(1).size(), 2U);
    EXPECT_EQ(
        in.field("u"),
        (InputField{.name = "u",
                    .type = "float",
                    .dims = {"z", "lat", "lon"},
                    .shape = {5, 23, 37},
                    .attributes = {{"units", std::string("m")}, {"_FillValue", std::vector{std::nan("")}}}}));
    ASSERT_EQ(in.axes().size(), 3U);
    const auto lat = std::ranges::find(in.axes(), "lat", &Axis::name);
    ASSERT_NE(lat, in.axes().end());
    EXPECT_EQ(lat->units, "degrees_north");
    EXPECT_EQ(lat->standard_name, "latitude");
    EXPECT_EQ(lat->values, std::vector<double>(23, 1));
    EXPECT_EQ(in.attributes().at("title"), Attribute("a run"));
    EXPECT_NE(in.explain("eta").find("contiguous"), std::string::npos) << in.explain("eta");
    in.close();
}

TEST_F(InputTest, ReadsByAnyDecomposition) {
    write(3);
    Input in = Input::open(comm, prefix());
    for (const auto block_of : {even_blocks, uneven_rows, backward_columns, inner_blocks}) {
        if (block_of == inner_blocks && comm.size() > 4) continue;
        for (const std::int64_t step : {2, 0}) expect_values(in, step, block_of, comm.size(), comm.rank());
    }
    // All ranks the whole: overlapping blocks, and a block left out is the whole field.
    std::vector<double> whole(23 * 37), again(23 * 37);
    placed.read(in, {.name = "eta", .block = {{23, 37}, {0, 0}, {23, 37}}, .data = std::span(whole)});
    placed.read(in, {.name = "eta", .data = std::span(again)});
    EXPECT_EQ(whole[100], static_cast<double>(value_at(0, 2, 100)));
    EXPECT_EQ(whole, again);
    in.close();
}

int num_opened = 0;

TEST_F(InputTest, ReadsValuesThroughTheStorageThatThePrefixNames) {
    storage::add_decorator(
        {"counted", [](std::string_view) -> Result<std::function<storage::FilePtr(storage::FilePtr)>> {
             return std::function([](storage::FilePtr file) {
                 ++num_opened;
                 return file;
             });
         }});
    for (const bool is_gathered : {true, false}) {
        write(1, {.method = "per-process", .if_exists = IfExists::replace, .keep_pieces = !is_gathered});
        num_opened = 0;
        Input in = Input::open(comm, "counted::" + prefix());
        expect_values(in, 0, even_blocks, comm.size(), comm.rank());
        in.close();
        int opened = 0;
        MPI_Allreduce(&num_opened, &opened, 1, MPI_INT, MPI_SUM, comm.handle());
        EXPECT_GT(opened, 0) << is_gathered;
        num_opened = 0;
        Input alone = Input::open("counted::" + prefix());
        expect_values(alone, 0, even_blocks, comm.size(), comm.rank());
        alone.close();
        EXPECT_GT(num_opened, 0) << is_gathered;
    }
}

TEST_F(InputTest, ReadsCompressedFieldsByAnyDecomposition) {
    const std::vector<TestField> large = {{"h", ValueType::float64, {401, 703}, uneven_rows},
                                          {"w", ValueType::int16, {17, 101, 233}, backward_columns},
                                          {"small", ValueType::float32, {20}, even_blocks}};
    for (const char* compression : {"deflate", "zstd"}) {
        write(2, {.compression = compression, .if_exists = IfExists::replace}, large);
        Input in = Input::open(comm, prefix());
        EXPECT_NE(in.explain("h").find("chunked and filtered"), std::string::npos) << in.explain("h");
        for (const auto block_of : {even_blocks, backward_columns, inner_blocks}) {
            if (block_of == inner_blocks && comm.size() > 4) continue;
            expect_values(in, 1, block_of, comm.size(), comm.rank(), large);
        }
        in.close();
    }
    // Whoever has pieces of such a step is told what to do with them.
    write(
        1,
        {.method = "per-process", .compression = "zstd", .if_exists = IfExists::replace, .keep_pieces = true},
        large);
    Input pieces = Input::open(comm, prefix());
    std::vector<double> values(401 * 703);
    expect_same_error(ErrorCode::unsupported, "hakobi gather",
                      error_of([&] { pieces.read({.name = "h", .data = std::span(values)}); }));
    pieces.close();
}

TEST_F(InputTest, TellsADamagedChunk) {
    write(1, {.compression = "deflate"}, {{"h", ValueType::float64, {401, 703}, even_blocks}});
    const std::string path = prefix() + "_000000.nc";
    damage([&] {
        std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
        file.seekp(static_cast<std::streamoff>(fs::file_size(path) - 2000));
        file.write(std::string(500, 'x').data(), 500);
    });
    Input in = Input::open(comm, prefix());
    std::vector<double> values(401 * 703);
    const Error error = error_of([&] { in.read({.name = "h", .data = std::span(values)}); });
    expect_same_error(ErrorCode::format, "a chunk is damaged", error);
    in.close();
}

TEST_F(InputTest, ReadsPiecesThatAreNotGathered) {
    write(2, {.method = "per-process", .keep_pieces = true});
    Input in = Input::open(comm, prefix());
    EXPECT_NE(in.explain("eta").find("pieces"), std::string::npos) << in.explain("eta");
    for (const auto block_of : {even_blocks, backward_columns})
        for (const std::int64_t step : {1, 0}) expect_values(in, step, block_of, comm.size(), comm.rank());
    in.close();
    // Elements that nobody put are the fill value, or zero, as in the file that gathering makes.
    std::vector<TestField> inner = {{"inner", ValueType::float64, {11, 13}, inner_blocks},
                                    {"numbers", ValueType::int32, {11, 13}, inner_blocks}};
    write(1, {.method = "per-process", .if_exists = IfExists::replace, .keep_pieces = true}, inner);
    Input holes = Input::open(comm, prefix());
    std::vector<double> values(11 * 13, 7.0);
    placed.read(holes, {.name = "inner", .data = std::span(values)});
    EXPECT_TRUE(std::isnan(values[5]));
    EXPECT_EQ(values[14], static_cast<double>(value_at(0, 0, 14)));
    std::vector<std::int32_t> numbers(11 * 13, 7);
    placed.read(holes, {.name = "numbers", .data = std::span(numbers)});
    EXPECT_EQ(numbers[5], 0);
    holes.close();
}

/// Reading system calls of this process so far; -1 where the kernel does not say.
std::int64_t num_reads() {
    std::ifstream io("/proc/self/io");
    std::string name;
    std::int64_t value = 0;
    while (io >> name >> value) {
        if (name == "syscr:") return value;
    }
    return -1;
}

TEST_F(InputTest, OpensAStepByFewReads) {
    write(1);
    barrier();
    if (is_rank_0()) {
        const std::int64_t before = num_reads();
        if (before < 0) GTEST_SKIP() << "the kernel does not count";
        Input in = Input::open(prefix());
        // HDF5 alone asks for about six pieces a field, each a request to storage.
        EXPECT_LE(num_reads() - before, 12);
        in.close();
    }
    barrier();
}

TEST_F(InputTest, ReadsAloneWithoutOthers) {
    write(2);
    if (comm.rank() == comm.size() - 1) {
        Input in = Input::open(prefix());
        for (int rank = 0; rank < 3; ++rank) expect_values(in, 1, backward_columns, 3, rank);
        in.close();
        EXPECT_EQ(error_of([&] { (void)in.read({.name = "eta"}); }).code(), ErrorCode::invalid_argument);
    }
}

TEST_F(InputTest, ReadsIntoMemoryWithGhosts) {
    for (const char* method : {"pipelined", "per-process"}) {
        write(1, {.method = method, .if_exists = IfExists::replace, .keep_pieces = true});
        Input in = Input::open(comm, prefix());
        const Block block = split({23, 37}, comm.size(), comm.rank());
        const std::int64_t ny = block.count[0] + 2, nx = block.count[1] + 4;
        std::vector<double> memory(static_cast<std::size_t>(ny * nx), -1.5);
        placed.read(in, {.name = "eta", .block = block, .data = std::span(memory), .ghosts = {1, 2}});
        for (std::int64_t y = 0; y < ny; ++y) {
            for (std::int64_t x = 0; x < nx; ++x) {
                const bool is_own = y >= 1 && y <= block.count[0] && x >= 2 && x < block.count[1] + 2;
                const std::int64_t element = (block.start[0] + y - 1) * 37 + block.start[1] + x - 2;
                ASSERT_EQ(memory[static_cast<std::size_t>(y * nx + x)],
                          is_own ? static_cast<double>(value_at(0, 0, element)) : -1.5);
            }
        }
        in.close();
    }
}

TEST_F(InputTest, SaysTheSameErrorOnAllRanksAndGoesOn) {
    write(2);
    expect_same_error(ErrorCode::not_found, "did you mean 'run'?",
                      error_of([&] { (void)Input::open(comm, folder + "/rum"); }));
    expect_same_error(ErrorCode::not_found, "no such folder",
                      error_of([&] { (void)Input::open(comm, folder + "/nowhere/run"); }));
    Input in = Input::open(comm, prefix());
    std::vector<double> values(23 * 37);
    const std::span data(values);
    expect_same_error(ErrorCode::not_found, "did you mean 'eta'?",
                      error_of([&] { in.read({.name = "etta", .data = data}); }));
    expect_same_error(ErrorCode::not_found, "no whole step 7: it has 2, from 0 to 1",
                      error_of([&] { in.read({.name = "eta", .step = 7, .data = data}); }));
    expect_same_error(ErrorCode::invalid_argument, "it is int, but memory of double was given",
                      error_of([&] { in.read({.name = "mask", .data = data}); }));
    // One rank's mistake is everybody's error.
    const bool is_last = comm.rank() == comm.size() - 1;
    const Block block = is_last ? Block{{23, 37}, {20, 0}, {4, 37}} : Block{{23, 37}, {0, 0}, {23, 37}};
    const Error outside = error_of([&] { in.read({.name = "eta", .block = block, .data = data}); });
    expect_same_error(ErrorCode::invalid_argument, "field eta: its block", outside);
    EXPECT_EQ(outside.rank(), comm.size() - 1);
    if (comm.size() > 1) {
        expect_same_error(ErrorCode::invalid_argument, "ask for different fields",
                          error_of([&] { in.read({.name = "eta", .step = is_last ? 0 : 1, .data = data}); }));
    }
    expect_values(in, 1, even_blocks, comm.size(), comm.rank());
    in.close();
    in.close();
}

TEST_F(InputTest, LeavesOutAStepThatIsMissing) {
    write(3);
    damage([&] { fs::remove(prefix() + "_000001.nc"); });
    Input in = Input::open(comm, prefix());
    EXPECT_EQ(std::vector<std::int64_t>(in.steps().begin(), in.steps().end()),
              (std::vector<std::int64_t>{0, 2}));
    std::vector<double> values(23 * 37);
    expect_same_error(ErrorCode::not_found, "no whole step 1",
                      error_of([&] { in.read({.name = "eta", .step = 1, .data = std::span(values)}); }));
    expect_values(in, 2, even_blocks, comm.size(), comm.rank());
    in.close();
}

TEST_F(InputTest, TakesOneOfManyLikeFilesApart) {
    write(6,
          {.method = "pipelined",
           .axes = {{.name = "y", .units = "m", .values = std::vector<double>(23, 1.5)},
                    {.name = "x", .units = "m", .values = std::vector<double>(37, 2)}}},
          {{"eta", ValueType::float64, {23, 37}, even_blocks},
           {"u", ValueType::float32, {23, 37}, uneven_rows}});
    const auto file = [&](std::int64_t step) { return series::step_path(prefix(), step, ".nc"); };
    const auto expect_the_same = [&](std::int64_t num_parsed) {
        series::StepsReader reader;
        for (std::int64_t step = 0; step < 6; ++step) {
            const Result<format::FoundStep> found = reader.read(file(step)),
                                            own = series::read_step(file(step));
            ASSERT_EQ(found.ok(), own.ok()) << step;
            if (!own.ok()) {
                EXPECT_EQ(found.status().text(), own.status().text());
                continue;
            }
            EXPECT_EQ(found.value().time, own.value().time) << step;
            EXPECT_EQ(format::encode_found(found.value()), format::encode_found(own.value())) << step;
        }
        EXPECT_EQ(reader.num_parsed(), num_parsed);
    };
    expect_the_same(1);
    // A coordinate, which no checksum guards.
    damage([&] {
        std::vector<char> bytes = bytes_of_file(file(2));
        const std::vector<double> written(23, 1.5);
        const std::string_view all(bytes.data(), bytes.size());
        const std::size_t at = all.find({reinterpret_cast<const char*>(written.data()), 23 * sizeof(double)});
        ASSERT_NE(at, std::string_view::npos);
        bytes[at + 6] ^= 1;
        std::ofstream(file(2), std::ios::binary).write(bytes.data(), std::ssize(bytes));
    });
    expect_the_same(3);
    damage([&] { fs::resize_file(file(4), fs::file_size(file(4)) - 8); });
    expect_the_same(5);
    damage([&] { fs::remove(file(0)); });
    expect_the_same(6);
}

TEST_F(InputTest, TakesOneOfManyLargeFilesApart) {
    // Large fields are aligned: what lies between them is no part of the description.
    write(3, {.method = "pipelined"}, {{"large", ValueType::float64, {1024, 1024}, even_blocks}});
    series::StepsReader reader;
    for (std::int64_t step = 0; step < 3; ++step)
        EXPECT_TRUE(reader.read(series::step_path(prefix(), step, ".nc")).ok());
    EXPECT_EQ(reader.num_parsed(), 1);
    barrier();
}

TEST_F(InputTest, RefusesFilesThatAreNotWhatTheyShouldBe) {
    write(2);
    const std::string path = prefix() + "_000001.nc";
    const auto whole = bytes_of_file(path);
    const auto replace_by = [&](const std::vector<char>& bytes) {
        damage([&] { std::ofstream(path, std::ios::binary).write(bytes.data(), std::ssize(bytes)); });
    };
    const auto open = [&] { (void)Input::open(comm, prefix()); };
    replace_by({whole.begin(), whole.begin() + std::ssize(whole) / 2});
    expect_same_error(ErrorCode::format, path + ": not a whole NetCDF-4 or HDF5 file", error_of(open));
    replace_by({});
    expect_same_error(ErrorCode::format, path + ": the file is empty", error_of(open));
    replace_by({'h', 'e', 'l', 'l', 'o', ' ', 't', 'h', 'e', 'r', 'e'});
    expect_same_error(ErrorCode::format, path, error_of(open));
    replace_by({'C', 'D', 'F', 1, 0, 0, 0, 0});
    expect_same_error(ErrorCode::unsupported, "nccopy -k nc4", error_of(open));
    std::vector<char> newer = whole;
    newer[8] = 9;  // the superblock's version
    replace_by(newer);
    expect_same_error(ErrorCode::format, path, error_of(open));
    // Cut off while it is open.
    replace_by(whole);
    Input in = Input::open(comm, prefix());
    damage([&] { fs::resize_file(path, static_cast<std::uintmax_t>(std::ssize(whole) / 3)); });
    std::vector<double> values(23 * 37);
    const Error error = error_of([&] {
        for (const TestField& field : fields) {
            if (field.name == "eta") placed.read(in, {.name = "eta", .data = std::span(values)});
        }
        std::vector<float> u(5 * 23 * 37);
        placed.read(in, {.name = "u", .data = std::span(u)});
    });
    expect_same_error(ErrorCode::format, "has become shorter", error);
    in.close();
}

TEST_F(InputTest, SaysWhatAFileIsThatWasNamedForAPrefix) {
    write(2);
    const std::string step = series::step_path(prefix(), 1, ".nc");
    const std::string text = step + " names step 1 of the series " + prefix() + ": open that";
    expect_same_error(ErrorCode::not_found, text, error_of([&] { (void)Input::open(comm, step); }));
    expect_same_error(ErrorCode::not_found, text, error_of([&] { (void)Input::open(step); }));
    damage([&] { std::ofstream(prefix() + ".csv") << "a table"; });
    expect_same_error(ErrorCode::not_found, "is a file and no prefix of steps",
                      error_of([&] { (void)Input::open(comm, prefix() + ".csv"); }));
    const std::string view = series::view_path(prefix(), ".nc");
    expect_same_error(ErrorCode::not_found,
                      view + " shows all steps of the series " + prefix() + ": open that",
                      error_of([&] { (void)Input::open(comm, view); }));
    for (const char* const slash : {"", "/"})
        expect_same_error(
            ErrorCode::not_found,
            folder + " is a folder: a prefix is one and how the steps' names begin, as " + prefix(),
            error_of([&] { (void)Input::open(comm, folder + slash); }));
}

TEST_F(InputTest, SaysThatAStoreOfAllStepsIsNoPrefix) {
    write(2, {.format = "zarr"});
    for (const char* const slash : {"", "/"})
        expect_same_error(ErrorCode::not_found,
                          prefix() + ".zarr shows all steps of the series " + prefix() + ": open that",
                          error_of([&] { (void)Input::open(comm, prefix() + ".zarr" + slash); }));
    damage([&] { fs::create_directory(prefix() + ".nothing"); });
    expect_same_error(ErrorCode::not_found, prefix() + ".nothing is a folder, and no step is in it",
                      error_of([&] { (void)Input::open(comm, prefix() + ".nothing"); }));
}

TEST_F(InputTest, LeavesOutPiecesThatAreNotWhole) {
    write(2, {.method = "per-process", .keep_pieces = true});
    const auto piece = [&](std::int64_t step) {
        return series::piece_path(series::pieces_folder(series::step_path(prefix(), step, ".nc")), 0);
    };
    damage([&] { fs::resize_file(piece(1), 100); });
    Input in = Input::open(comm, prefix());
    EXPECT_EQ(in.steps().size(), 1U);
    in.close();
    damage([&] { fs::remove(piece(0)); });
    expect_same_error(ErrorCode::not_found, "no whole step of",
                      error_of([&] { (void)Input::open(comm, prefix()); }));
}

}  // namespace
}  // namespace hakobi::test
