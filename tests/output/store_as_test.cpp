// Values that files have in another type than memory: the bytes are those of a program that puts values of
// that type itself, whatever the method, and they are read back as they were put.
#include <cmath>
#include <limits>
#include <tuple>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

using format::ValueType;

constexpr double missing = -1e30;
constexpr double scale_factor = 0.25, add_offset = 100;

/// The value at an element, exact in all of the types.
double value_of(std::int64_t step, std::int64_t element) {
    return static_cast<double>((element * 7 + step * 31) % 8000) * scale_factor + add_offset;
}

struct Part {
    Block block;
    std::vector<double> values;
};

/// A rank's part of an array: value_of's at each element, and every ninth one missing.
Part part_of(const Block& block, std::int64_t step, bool has_missing) {
    Part part{block, {}};
    const std::int64_t rows = block.count[0], columns = block.count[1];
    for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t j = 0; j < columns; ++j) {
            const std::int64_t element = (block.start[0] + i) * block.global[1] + block.start[1] + j;
            part.values.push_back(has_missing && element % 9 == 0 ? missing : value_of(step, element));
        }
    }
    return part;
}

template <class To>
std::vector<To> as(const std::vector<double>& values) {
    std::vector<To> others;
    for (const double value : values) {
        if constexpr (std::is_integral_v<To>) {
            others.push_back(value == missing
                                 ? std::numeric_limits<To>::min()
                                 : static_cast<To>(std::lround((value - add_offset) / scale_factor)));
        } else {
            others.push_back(static_cast<To>(value));
        }
    }
    return others;
}

const std::vector<std::int64_t> extents = {61, 83};

class StoreAs : public RanksTest {
  protected:
    /// Where the options are refused nothing is written. `is_by_hand`: the program puts what files have.
    void write(const std::string& prefix, const OutputOptions& options, bool is_by_hand) const {
        Output out = Output::create(comm, prefix, options);
        const std::string store_as = is_by_hand ? "" : "float32";
        for (std::int64_t step = 0; step < 3; ++step) {
            const Part whole = part_of(uneven_rows(extents, comm.size(), comm.rank()), step, false);
            const Part inner = part_of(inner_blocks(extents, comm.size(), comm.rank()), step, true);
            const Part still = part_of(backward_columns(extents, comm.size(), comm.rank()), 7, false);
            const auto floats = as<float>(whole.values), still_floats = as<float>(still.values);
            const auto integers = as<std::int16_t>(inner.values);
            const std::vector<double> one = {0.5};
            const std::vector<float> one_float = {0.5F};
            out.begin_step(static_cast<double>(step));
            const auto put = [&](Field field, Field::Data data, Field::Data by_hand) {
                field.data = is_by_hand ? by_hand : data;
                out.put(placed.field(field));
            };
            put({.name = "eta", .block = whole.block, .data = {}, .store_as = store_as},
                std::span(whole.values), std::span(floats));
            Field scaled{.name = "scaled", .block = inner.block, .data = {}};
            if (is_by_hand) {
                scaled.attributes = {{"scale_factor", scale_factor}, {"add_offset", add_offset}};
                scaled.fill_value = std::numeric_limits<std::int16_t>::min();
            } else {
                scaled.store_as = "int16:scale_factor=0.25,add_offset=100";
                scaled.fill_value = missing;
            }
            put(scaled, std::span(inner.values), std::span(integers));
            if (step == 0)
                put({.name = "still",
                     .block = still.block,
                     .data = {},
                     .is_static = true,
                     .store_as = store_as},
                    std::span(still.values), std::span(still_floats));
            put({.name = "one", .block = {}, .data = {}, .store_as = store_as}, std::span(one),
                std::span(one_float));
            out.end_step();
            placed.end_step();
        }
        out.close();
    }
};

class EveryWayToStoreAs
    : public StoreAs,
      public ::testing::WithParamInterface<std::tuple<Way, bool, std::string, std::int64_t>> {};

TEST_P(EveryWayToStoreAs, HasTheBytesOfOneThatPutsTheseTypes) {
    const auto& [way, is_hidden, compression, steps_per_file] = GetParam();
    OutputOptions options{.method = way.method, .format = way.format, .compression = compression};
    options.hidden.on = is_hidden;
    options.steps_per_file = steps_per_file;
    Files stored[2];
    for (const bool is_by_hand : {false, true}) {
        const std::string sub = folder + (is_by_hand ? "/by_hand" : "/stored");
        const Error error = error_of([&] { write(sub + "/run", options, is_by_hand); });
        if (error.code() == ErrorCode::unsupported || error.code() == ErrorCode::invalid_argument) {
            EXPECT_EQ(std::string(error.what()).find("store_as"), std::string::npos) << error.what();
            return;
        }
        ASSERT_EQ(error.code(), ErrorCode::ok) << error.what();
        barrier();
        if (is_rank_0()) stored[is_by_hand ? 1 : 0] = files_in(sub);
    }
    if (!is_rank_0()) return;
    EXPECT_FALSE(stored[0].empty());
    ASSERT_EQ(stored[0].size(), stored[1].size());
    for (const auto& [name, bytes] : stored[1]) EXPECT_TRUE(stored[0][name] == bytes) << name;
}

using StoredWay = std::tuple<Way, bool, std::string, std::int64_t>;

std::string name_of_stored(const ::testing::TestParamInfo<StoredWay>& info) {
    const auto& [way, is_hidden, compression, steps_per_file] = info.param;
    return name_of_way({way, 0}) + (is_hidden ? "_hidden_" : "_") + compression + "_" +
           std::to_string(steps_per_file);
}

INSTANTIATE_TEST_SUITE_P(Ways, EveryWayToStoreAs,
                         ::testing::Combine(::testing::ValuesIn(every_way()), ::testing::Bool(),
                                            ::testing::Values("none", "deflate"), ::testing::Values(1, 2)),
                         name_of_stored);

/// Reads a field as doubles by blocks that are not the writer's.
std::vector<double> read_as_double(Input& in, const std::string& name, std::int64_t step,
                                   const Block& block) {
    std::vector<double> values(static_cast<std::size_t>(block.num_elements()));
    in.read({.name = name, .step = step, .block = block, .data = std::span(values)});
    return values;
}

TEST_F(StoreAs, IsReadBackAsItWasPut) {
    for (const char* format : {"netcdf4", "zarr"}) {
        for (const bool keeps_pieces : {false, true}) {
            if (keeps_pieces && std::string(format) == "zarr") continue;
            OutputOptions options{.method = keeps_pieces ? "per-process" : "pipelined", .format = format};
            options.per_process.keep_pieces = keeps_pieces;
            const std::string prefix = folder + "/" + format + (keeps_pieces ? "_pieces" : "");
            write(prefix, options, false);
            Input in = Input::open(comm, prefix);
            const Block block = even_blocks(extents, comm.size(), comm.rank());
            EXPECT_EQ(in.field("eta").type, "float");
            EXPECT_EQ(in.field("scaled").type, "short");
            for (std::int64_t step = 0; step < 3; ++step) {
                EXPECT_EQ(read_as_double(in, "eta", step, block), part_of(block, step, false).values);
                EXPECT_EQ(read_as_double(in, "still", step, block), part_of(block, 7, false).values);
                const std::vector<double> found = read_as_double(in, "scaled", step, block);
                const std::vector<double> put = part_of(block, step, true).values;
                for (std::size_t i = 0; i < found.size(); ++i) {
                    const std::int64_t row = block.start[0] + static_cast<std::int64_t>(i) / block.count[1];
                    const std::int64_t column =
                        block.start[1] + static_cast<std::int64_t>(i) % block.count[1];
                    const bool is_put =
                        row > 0 && row < extents[0] - 1 && column > 0 && column < extents[1] - 1;
                    if (keeps_pieces && !is_put) continue;  // pieces do not say what nobody put
                    if (is_put && put[i] != missing) {
                        EXPECT_EQ(found[i], put[i]) << format << " " << row << " " << column;
                    } else {
                        EXPECT_TRUE(std::isnan(found[i])) << format << " " << row << " " << column;
                    }
                }
            }
            // Among ghosts, as float, alone, and by ranks of which one wants the file's own type.
            const std::int64_t width = block.count[1] + 2;
            std::vector<double> framed(static_cast<std::size_t>((block.count[0] + 2) * width), -5);
            in.read({.name = "eta", .step = 1, .block = block, .data = std::span(framed), .ghosts = {1, 1}});
            const std::vector<double> right = part_of(block, 1, false).values;
            for (std::int64_t i = 0; i < std::ssize(framed); ++i) {
                const std::int64_t row = i / width - 1, column = i % width - 1;
                const bool is_inside =
                    row >= 0 && row < block.count[0] && column >= 0 && column < block.count[1];
                EXPECT_EQ(framed[static_cast<std::size_t>(i)],
                          is_inside ? right[static_cast<std::size_t>(row * block.count[1] + column)] : -5);
            }
            std::vector<float> floats(right.size());
            std::vector<std::int16_t> raw(right.size());
            if (comm.rank() == 0) {
                in.read({.name = "scaled", .step = 1, .block = block, .data = std::span(raw)});
            } else {
                in.read({.name = "scaled", .step = 1, .block = block, .data = std::span(floats)});
            }
            in.read_independent(
                {.name = "eta", .step = 1, .block = block, .data = std::span(framed).first(right.size())});
            EXPECT_TRUE(std::equal(right.begin(), right.end(), framed.begin()));
            const Error error = error_of([&] {
                std::vector<std::int32_t> others(right.size());
                in.read({.name = "scaled", .step = 1, .block = block, .data = std::span(others)});
            });
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_NE(std::string(error.what()).find("it is short, but memory of int was given"),
                      std::string::npos)
                << error.what();
            in.close();
        }
    }
}

TEST_F(StoreAs, FieldsOnAMeshHaveTheBytesOfOneThatPutsFloats) {
    const std::vector<double> points = {0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1};
    const std::vector<std::int64_t> connectivity = {0, 1, 2, 3}, offsets = {0, 4};
    const std::vector<std::uint8_t> types = {10};
    std::vector<double> u;  // of three components
    for (int i = 0; i < 12; ++i) u.push_back(0.1 * i + comm.rank());
    const auto floats = as<float>(u);
    for (const bool is_by_hand : {false, true}) {
        Output out =
            Output::create(comm, folder + (is_by_hand ? "/by_hand" : "/stored"), {.format = "vtkhdf"});
        out.begin_step(0);
        out.put_mesh({.points = std::span(points),
                      .connectivity = std::span(connectivity),
                      .offsets = std::span(offsets),
                      .types = types});
        out.put({.name = "u",
                 .block = {},
                 .data = is_by_hand ? Field::Data(std::span(floats)) : Field::Data(std::span(u)),
                 .on = On::points,
                 .components = 3,
                 .store_as = is_by_hand ? "" : "float32"});
        out.end_step();
        out.close();
    }
    if (!is_rank_0()) return;
    EXPECT_EQ(bytes_of_file(folder + "/stored_000000.hdf").size(),
              bytes_of_file(folder + "/by_hand_000000.hdf").size());
    EXPECT_TRUE(bytes_of_file(folder + "/stored_000000.hdf.mesh") ==
                bytes_of_file(folder + "/by_hand_000000.hdf.mesh"));
    Input in = Input::open(folder + "/stored");
    EXPECT_EQ(in.field("u").type, "float");
    std::vector<double> read(static_cast<std::size_t>(12 * comm.size()));
    in.read({.name = "u", .data = std::span(read)});
    EXPECT_EQ(as<float>(read)[1], floats[1]);
    in.close();
}

TEST_F(StoreAs, AValueThatDoesNotFitIsAnErrorOfAllRanksAndCostsNoStepBefore) {
    for (const std::int64_t steps_per_file : {std::int64_t{1}, all_steps}) {
        for (const bool is_hidden : {false, true}) {
            const std::string prefix =
                folder + "/run" + std::to_string(steps_per_file == 1 ? 1 : 2) + (is_hidden ? "h" : "");
            OutputOptions options{.method = "pipelined", .store_as = "float32"};
            options.hidden.on = is_hidden;
            options.steps_per_file = steps_per_file;
            Output out = Output::create(comm, prefix, options);
            const Block block = even_blocks(extents, comm.size(), comm.rank());
            const int bad_rank = comm.size() - 1;
            Error error(ErrorCode::ok, "");
            std::vector<double> values = part_of(block, 0, false).values;
            for (std::int64_t step = 0; step < 2 && error.code() == ErrorCode::ok; ++step) {
                if (step == 1 && comm.rank() == bad_rank)
                    values[static_cast<std::size_t>(block.count[1] + 2)] = -1e300;
                out.begin_step(static_cast<double>(step));
                out.put({.name = "eta", .block = block, .data = std::span(values)});
                error = error_of([&] { out.end_step(); });
            }
            EXPECT_TRUE(is_same_everywhere(comm, error));
            EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
            EXPECT_EQ(error.rank(), bad_rank);
            const Block last = even_blocks(extents, comm.size(), bad_rank);
            const std::string text = "field eta: its value -1e+300 at (" + std::to_string(last.start[0] + 1) +
                                     ", " + std::to_string(last.start[1] + 2) +
                                     ") does not fit in float, which store_as asks for";
            EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
            out.close();
            Input in = Input::open(comm, prefix);
            EXPECT_EQ(in.steps().size(), 1U);
            EXPECT_EQ(read_as_double(in, "eta", 0, block), part_of(block, 0, false).values);
            in.close();
        }
    }
}

TEST_F(StoreAs, IsAnOptionAndAVariableForFieldsOfDoubles) {
    const auto write_plain = [&](const std::string& prefix, const OutputOptions& options) {
        Output out = Output::create(comm, prefix, options);
        const Block block = even_blocks(extents, comm.size(), comm.rank());
        const std::vector<double> values = part_of(block, 0, false).values;
        const std::vector<std::int32_t> numbers(values.size(), 3);
        const FieldId eta = out.define({.name = "eta", .global = extents});
        const FieldId own = out.define({.name = "own", .global = extents, .store_as = "float64"});
        out.begin_step(0);
        out.put(eta, block, std::span(values));
        out.put(own, block, std::span(values));
        out.put({.name = "numbers", .block = block, .data = std::span(numbers)});
        out.end_step();
        const std::string text(out.explain());
        out.close();
        Input in = Input::open(comm, prefix);
        const std::vector<std::string> types = {
            in.field("eta").type, in.field("own").type, in.field("numbers").type,
            text.find("float64 stored as float32") != std::string::npos ? "said" : ""};
        in.close();
        return types;
    };
    const std::vector<std::string> narrow = {"float", "double", "int", "said"},
                                   wide = {"double", "double", "int", ""};
    EXPECT_EQ(write_plain(folder + "/a", {.store_as = "float32"}), narrow);
    EXPECT_EQ(write_plain(folder + "/b", {}), wide);
    setenv("HAKOBI_STORE_AS", "float32", 1);
    EXPECT_EQ(write_plain(folder + "/c", {}), narrow);
    EXPECT_EQ(write_plain(folder + "/d", {.store_as = "float64"}), wide);
    setenv("HAKOBI_STORE_AS", "float", 1);
    const Error unknown = error_of([&] { (void)Output::create(comm, folder + "/e", {}); });
    EXPECT_NE(std::string(unknown.what()).find("HAKOBI_STORE_AS: store_as 'float'"), std::string::npos)
        << unknown.what();
    unsetenv("HAKOBI_STORE_AS");
    if (comm.size() == 1) return;
    if (!is_rank_0()) setenv("HAKOBI_STORE_AS", "float32", 1);
    const Error differs = error_of([&] { (void)Output::create(comm, folder + "/f", {}); });
    unsetenv("HAKOBI_STORE_AS");
    EXPECT_EQ(differs.code(), ErrorCode::invalid_argument) << differs.what();
    EXPECT_TRUE(is_same_everywhere(comm, differs));
}

TEST_F(StoreAs, RefusesWhatCannotBe) {
    Output out = Output::create(comm, folder + "/run", {});
    const auto refused = [&](const FieldDefinition& definition) {
        const Error error = error_of([&] { (void)out.define(definition); });
        EXPECT_TRUE(is_same_everywhere(comm, error));
        return std::string(error.what());
    };
    EXPECT_NE(refused({.name = "n", .type = ValueType::int32, .store_as = "float32"}).find("these are int"),
              std::string::npos);
    EXPECT_NE(
        refused({.name = "n", .type = ValueType::float32, .store_as = "float64"}).find("float32 in memory"),
        std::string::npos);
    EXPECT_NE(refused({.name = "n", .store_as = "int16"}).find("a scale_factor, or a range"),
              std::string::npos);
    EXPECT_NE(refused({.name = "n", .attributes = {{"add_offset", 1.0}}, .store_as = "int16:range=0..1"})
                  .find("among its attributes"),
              std::string::npos);
    EXPECT_NE(refused({.name = "n", .fill_value = 1e300, .store_as = "float32"})
                  .find("its fill value does not fit"),
              std::string::npos);
    EXPECT_NE(
        refused({.name = "n", .fill_value = 1.0F, .store_as = "float32"}).find("its fill value is float"),
        std::string::npos);
    out.close();
    Output meshes = Output::create(comm, folder + "/mesh", {.format = "vtkhdf"});
    const Error error = error_of(
        [&] { (void)meshes.define({.name = "n", .on = On::cells, .store_as = "int16:range=0..1"}); });
    EXPECT_EQ(error.code(), ErrorCode::unsupported) << error.what();
    meshes.close();
}

}  // namespace
}  // namespace hakobi::test
