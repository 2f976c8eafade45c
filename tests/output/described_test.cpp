// A field's description beside its values: attributes, fill values, coordinates, scalars, static fields; read
// back by Input.
#include <cmath>
#include <hakobi/input.hpp>

#include "fixture.hpp"

namespace hakobi::test {
namespace {

constexpr std::int64_t ny = 23, nx = 37;

std::vector<double> of_block(const Block& block, double scale) {
    std::vector<double> values;
    for (std::int64_t n = 0; n < block.num_elements(); ++n) {
        const std::int64_t y = block.start[0] + n / block.count[1], x = block.start[1] + n % block.count[1];
        values.push_back(scale * static_cast<double>(y * nx + x));
    }
    return values;
}

class Described : public RanksTest, public ::testing::WithParamInterface<std::string> {
  protected:
    [[nodiscard]] std::string prefix() const { return folder + "/run"; }
    /// Two steps of a curvilinear grid; lat, lon and mask are put in the first alone.
    void write(OutputOptions options) {
        options.attributes = {{"institution", "a test"}, {"realization", 7}};
        options.axes = {{.name = "depth",
                         .units = "m",
                         .values = {0.5, 10},
                         .attributes = {{"positive", "down"}, {"axis", "Z"}}}};
        Output out = Output::create(comm, prefix(), options);
        const Block block = inner_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
        const Block whole = even_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
        for (int step = 0; step < 2; ++step) {
            out.begin_step(step);
            // Lent until end_step returns.
            std::vector<std::vector<double>> kept = {of_block(whole, 0.01), of_block(whole, -0.02),
                                                     of_block(block, 1 + step)};
            const std::vector<std::string> dims = {"y", "x"};
            if (step == 0) {
                out.put({.name = "lat",
                         .units = "degrees_north",
                         .dims = dims,
                         .block = whole,
                         .data = kept[0],
                         .is_static = true});
                out.put({.name = "lon",
                         .units = "degrees_east",
                         .dims = dims,
                         .block = whole,
                         .data = kept[1],
                         .is_static = true});
            }
            out.put({.name = "eta",
                     .units = "m",
                     .dims = dims,
                     .block = block,
                     .data = kept[2],
                     .attributes = {{"cell_methods", "time: point"},
                                    {"valid_range", {-1.0, 2e4}},
                                    {"level", 500},
                                    {"shares", std::array{0.25F, 0.5F}},
                                    {"empty", ""}},
                     .fill_value = -1.0,
                     .coordinates = {"lat", "lon"}});
            const double energy = 2.5 + step + comm.rank();
            out.put({.name = "energy", .units = "J", .block = {}, .data = std::span(&energy, 1)});
            out.end_step();
        }
        out.close();
        barrier();
    }
    void expect_what_was_written() {
        Input in = Input::open(comm, prefix());
        EXPECT_EQ(in.attributes().at("institution"), Attribute("a test"));
        EXPECT_EQ(in.attributes().at("realization"), Attribute(std::vector<std::int64_t>{7}));
        for (const std::int64_t step : {0, 1}) {
            const InputField& eta = in.field("eta", step);
            EXPECT_EQ(eta.attributes.at("_FillValue"), Attribute(std::vector{-1.0}));
            EXPECT_EQ(eta.attributes.at("coordinates"), Attribute("lat lon"));
            EXPECT_EQ(eta.attributes.at("cell_methods"), Attribute("time: point"));
            EXPECT_EQ(eta.attributes.at("valid_range"), Attribute((std::vector{-1.0, 2e4})));
            EXPECT_EQ(eta.attributes.at("level"), Attribute(std::vector<std::int64_t>{500}));
            EXPECT_EQ(eta.attributes.at("shares"), Attribute(std::vector{0.25, 0.5}));
            EXPECT_EQ(eta.attributes.at("empty"), Attribute(""));
            EXPECT_FALSE(eta.is_static);
            EXPECT_TRUE(in.field("lat", step).is_static);
            EXPECT_EQ(in.field("lat", step).shape, (std::vector<std::int64_t>{ny, nx}));
            EXPECT_TRUE(in.field("energy", step).shape.empty());

            std::vector<double> values(ny * nx);
            in.read({.name = "eta", .step = step, .block = {}, .data = std::span(values)});
            for (std::int64_t n = 0; n < ny * nx; ++n) {
                const bool is_border = n / nx == 0 || n / nx == ny - 1 || n % nx == 0 || n % nx == nx - 1;
                ASSERT_EQ(values[static_cast<std::size_t>(n)],
                          is_border ? -1.0 : static_cast<double>((1 + step) * n))
                    << step << ", " << n;
            }
            in.read({.name = "lon", .step = step, .block = {}, .data = std::span(values)});
            EXPECT_EQ(values, of_block({{ny, nx}, {0, 0}, {ny, nx}}, -0.02)) << step;
            double energy = 0;
            in.read({.name = "energy", .step = step, .block = {}, .data = std::span(&energy, 1)});
            EXPECT_EQ(energy, 2.5 + static_cast<double>(step));
        }
        in.close();
    }
};

TEST_P(Described, IsReadBackAsItWasSaid) {
    write({.method = GetParam()});
    expect_what_was_written();
}

TEST_P(Described, IsTheSameFileByEveryMethod) {
    write({.method = GetParam()});
    const std::string first = prefix();
    if (is_rank_0()) fs::create_directory(folder + "/root");
    barrier();
    folder += "/root";
    write({.method = "root"});
    if (is_rank_0()) {
        for (const char* step : {"_000000.nc", "_000001.nc"})
            EXPECT_TRUE(bytes_of_file(first + step) == bytes_of_file(prefix() + step)) << step;
    }
    folder = folder.substr(0, folder.rfind('/'));
    barrier();
}

TEST_P(Described, FillsWhatNobodyPutInEveryType) {
    Output out = Output::create(comm, prefix(), {.method = GetParam()});
    const Block block = inner_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
    out.begin_step(0);
    const auto num = static_cast<std::size_t>(block.num_elements());
    const std::vector<std::int16_t> shorts(num, 5);
    const std::vector<float> reals(num, 5);
    const std::vector<std::uint64_t> large(num, 5);
    const std::vector<std::int32_t> plain(num, 5);
    out.put({.name = "shorts", .block = block, .data = shorts, .fill_value = std::int16_t{-7}});
    out.put({.name = "reals", .block = block, .data = reals});
    out.put({.name = "large", .block = block, .data = large, .fill_value = ~std::uint64_t{0}});
    out.put({.name = "plain", .block = block, .data = plain});
    out.end_step();
    out.close();
    barrier();
    Input in = Input::open(comm, prefix());
    std::vector<std::int16_t> found_shorts(ny * nx);
    std::vector<float> found_reals(ny * nx);
    std::vector<std::uint64_t> found_large(ny * nx);
    std::vector<std::int32_t> found_plain(ny * nx);
    in.read({.name = "shorts", .data = std::span(found_shorts)});
    in.read({.name = "reals", .data = std::span(found_reals)});
    in.read({.name = "large", .data = std::span(found_large)});
    in.read({.name = "plain", .data = std::span(found_plain)});
    EXPECT_EQ(found_shorts[1], -7);
    EXPECT_TRUE(std::isnan(found_reals[ny * nx - 1]));
    EXPECT_EQ(found_large[nx], ~std::uint64_t{0});
    EXPECT_EQ(found_plain[nx], 0);
    EXPECT_EQ(found_shorts[nx + 1], 5);
    EXPECT_EQ(found_reals[nx + 1], 5);
    EXPECT_EQ(found_large[nx + 1], 5U);
    EXPECT_EQ(std::ranges::count(found_shorts, 5), (ny - 2) * (nx - 2));
    EXPECT_FALSE(in.field("plain").attributes.contains("_FillValue"));
    in.close();
}

INSTANTIATE_TEST_SUITE_P(Output, Described, ::testing::ValuesIn(writing_methods()), name_of_method);

TEST_F(Described, IsTheSameInCompressedChunks) {
    Output out = Output::create(comm, prefix(), {.method = "pipelined"});
    const std::vector<std::int64_t> global = {100, 120};
    const Block block = inner_blocks(global, comm.size(), comm.rank());
    const std::vector<double> values(static_cast<std::size_t>(block.num_elements()), 1.0 / 3);
    const double missing = -9999.123;  // no number of seven bits
    for (int step = 0; step < 2; ++step) {
        out.begin_step(step);
        if (step == 0)
            out.put(
                {.name = "bed", .compression = "deflate", .block = block, .data = values, .is_static = true});
        out.put({.name = "eta",
                 .compression = "deflate",
                 .significant_bits = 7,
                 .block = block,
                 .data = values,
                 .fill_value = missing});
        out.end_step();
    }
    out.close();
    barrier();
    Input in = Input::open(comm, prefix());
    std::vector<double> found(100 * 120);
    in.read({.name = "eta", .data = std::span(found)});
    EXPECT_EQ(found[119], missing);
    EXPECT_NEAR(found[121], 1.0 / 3, 1.0 / 3 / 256);
    EXPECT_EQ(std::ranges::count(found, missing), 100 * 120 - 98 * 118);
    in.read({.name = "bed", .data = std::span(found)});
    EXPECT_TRUE(std::isnan(found[119]));
    EXPECT_EQ(found[121], 1.0 / 3);
    EXPECT_TRUE(in.field("bed").is_static);
    in.close();
}

TEST_F(Described, PiecesSayTheSame) {
    write({.method = "per-process", .keep_pieces = true});
    expect_what_was_written();
}

TEST_F(Described, AStaticFieldChangesWhenItIsPutAgain) {
    Output out = Output::create(comm, prefix(), {.method = "pipelined"});
    const Block block = even_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
    for (int step = 0; step < 4; ++step) {
        const std::vector<double> bed = of_block(block, step + 1);
        out.begin_step(step);
        if (step % 2 == 0)
            out.put({.name = "bed", .units = "m", .block = block, .data = bed, .is_static = true});
        out.end_step();
    }
    out.close();
    barrier();
    Input in = Input::open(comm, prefix());
    for (const std::int64_t step : {0, 1, 2, 3}) {
        std::vector<double> bed(ny * nx);
        in.read({.name = "bed", .step = step, .block = {}, .data = std::span(bed)});
        EXPECT_EQ(bed[nx], static_cast<double>((step / 2 * 2 + 1) * nx)) << step;
    }
    in.close();
}

TEST_F(Described, BadDescriptionsAreOneErrorOnAllRanks) {
    struct Case {
        void (*change)(Field&);
        const char* text;
    };
    using Integers = std::vector<std::int64_t>;
    const std::vector<Case> cases = {
        {[](Field& f) {
             f.attributes = {{"units", "m"}};
         },
         "attribute 'units': an option of its own sets it"},
        {[](Field& f) {
             f.attributes = {{"_FillValue", std::vector{1.0}}};
         },
         "an option of its own sets it"},
        {[](Field& f) {
             f.attributes = {{"DIMENSION_LIST", "x"}};
         },
         "netCDF keeps the name for itself"},
        {[](Field& f) {
             f.attributes = {{"a/b", "x"}};
         },
         "attribute 'a/b': a name is at most 255 letters"},
        {[](Field& f) {
             f.attributes = {{"", "x"}};
         },
         "a name is at most 255 letters"},
        {[](Field& f) {
             f.attributes = {{"-a", "x"}};
         },
         "a name is at most 255 letters"},
        {[](Field& f) {
             f.attributes = {{"text", std::string("a\0b", 3)}};
         },
         "its text has a NUL character"},
        {[](Field& f) {
             f.attributes = {{"text", std::string(40000, 'x')}};
         },
         "longer than 32 KiB"},
        {[](Field& f) {
             f.attributes = {{"list", Integers{}}};
         },
         "it has no values"},
        {[](Field& f) { f.fill_value = 1.0; }, "its fill value is double, its values are float"},
        {[](Field& f) { f.coordinates = {"lat"}; },
         "its coordinates name lat, but the step has no such field"},
        {[](Field& f) { f.coordinates = {"eta"}; }, "its coordinates name itself"},
        {[](Field& f) {
             f.coordinates = {"mask", "mask"};
         },
         "its coordinates name mask twice"},
    };
    const Block block = even_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
    const auto num = static_cast<std::size_t>(block.num_elements());
    const std::vector<float> eta(num);
    const std::vector<std::uint8_t> mask(num);
    for (const Case& bad : cases) {
        Output out = Output::create(comm, prefix(), {.method = "pipelined"});
        out.begin_step(0);
        Field field{.name = "eta", .units = "m", .block = block, .data = eta};
        bad.change(field);
        out.put(field);
        out.put({.name = "mask",
                 .block = block,
                 .data = mask,
                 .attributes = {{"flag_values", Integers{0, 255}}}});
        const Error error = error_of([&] { out.end_step(); });
        EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << bad.text;
        EXPECT_NE(std::string(error.what()).find(bad.text), std::string::npos) << error.what();
        EXPECT_TRUE(is_same_everywhere(comm, error));
        out.close();
    }
    Output out = Output::create(comm, prefix(), {.method = "pipelined"});
    out.begin_step(0);
    out.put(
        {.name = "mask", .block = block, .data = mask, .attributes = {{"flag_values", Integers{0, 256}}}});
    const Error error = error_of([&] { out.end_step(); });
    EXPECT_NE(std::string(error.what()).find("not of the field's type ubyte"), std::string::npos)
        << error.what();
    out.close();
}

TEST_F(Described, AttributesThatDifferBetweenRanksAreAnError) {
    if (comm.size() == 1) GTEST_SKIP() << "needs two ranks to disagree";
    Output out = Output::create(comm, prefix(), {.method = "pipelined"});
    const Block block = even_blocks(std::vector{ny, nx}, comm.size(), comm.rank());
    const std::vector<double> eta = of_block(block, 1);
    out.begin_step(0);
    out.put({.name = "eta",
             .block = block,
             .data = eta,
             .attributes = {{"comment", comm.rank() == 0 ? "one" : "another"}}});
    const Error error = error_of([&] { out.end_step(); });
    EXPECT_NE(std::string(error.what()).find("has other attributes"), std::string::npos) << error.what();
    EXPECT_TRUE(is_same_everywhere(comm, error));
    out.close();
    for (const OutputOptions& bad :
         {OutputOptions{.attributes = {{"title", "twice"}}},
          OutputOptions{
              .axes = {{.name = "z", .units = "m", .values = {1}, .attributes = {{"positive", "left"}}}}},
          OutputOptions{.attributes = {{"rank", std::vector<std::int64_t>{comm.rank()}}}}}) {
        const Error refused = error_of([&] { static_cast<void>(Output::create(comm, prefix(), bad)); });
        EXPECT_EQ(refused.code(), ErrorCode::invalid_argument);
        EXPECT_TRUE(is_same_everywhere(comm, refused)) << refused.what();
    }
}

}  // namespace
}  // namespace hakobi::test
