#include "inputs.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <hakobi/error.hpp>
#include <random>

#include "exact_sum.hpp"

namespace hakobi::tsunami {
namespace {

const std::string data = HAKOBI_TSUNAMI_SOURCE_DATA;

ErrorCode code_of(const std::function<void()>& action) {
    try {
        action();
    } catch (const Error& error) {
        EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << "one line: " << error.what();
        return error.code();
    }
    return ErrorCode::ok;
}

class Files : public ::testing::Test {
  protected:
    std::filesystem::path folder =
        std::filesystem::temp_directory_path() / ("hakobi_tsunami_inputs_" + std::to_string(getpid()));
    void SetUp() override { std::filesystem::create_directories(folder); }
    void TearDown() override { std::filesystem::remove_all(folder); }
    std::string write(const std::string& name, const std::string& text) {
        std::ofstream(folder / name, std::ios::binary) << text;
        return (folder / name).string();
    }
};

TEST_F(Files, ARuptureThatNoEarthquakeIsIsRefused) {
    const auto code = [&](const std::string& size, const std::string& subfault) {
        const std::string path =
            write("rupture.json",
                  "{\"length_km\": " + size + ", \"width_km\": 20, \"subfaults\": [" + subfault + "]}");
        return code_of([&] { static_cast<void>(read_rupture(path)); });
    };
    const std::string good = "[143.2, 38.1, 10, 12.5, 88, 198, 10, 5, 12, 20]";
    EXPECT_EQ(code("25", good), ErrorCode::ok);
    EXPECT_EQ(code("1e300", good), ErrorCode::format);
    EXPECT_EQ(code("-1", good), ErrorCode::format);
    EXPECT_EQ(code("25", "[1e300, 38.1, 10, 12.5, 88, 198, 10, 5, 12, 20]"), ErrorCode::format) << "place";
    EXPECT_EQ(code("25", "[143.2, 38.1, 10, 1e300, 88, 198, 10, 5, 12, 20]"), ErrorCode::format) << "slip";
    EXPECT_EQ(code("25", "[143.2, 38.1, 10, 12.5, 88, 198, 10, 1e300, 12, 20]"), ErrorCode::format) << "time";
    EXPECT_EQ(code("25", "[143.2, 38.1, 10, 12.5, 88, 198, 10, 5, 0, 0]"), ErrorCode::format) << "0 / 0";
}

TEST_F(Files, AMissingACutAndAForeignSeafloorAreToldApart) {
    std::ifstream file(data + "/north_pacific_etopo5.nc", std::ios::binary);
    const std::string whole{std::istreambuf_iterator<char>(file), {}};
    ASSERT_GT(whole.size(), 1'000'000U);
    std::string damaged = whole;
    for (std::size_t i = whole.size() / 2; i < whole.size() / 2 + 64; ++i)
        damaged[i] = static_cast<char>(~damaged[i]);

    EXPECT_EQ(code_of([&] { static_cast<void>(read_seafloor((folder / "none.nc").string())); }),
              ErrorCode::not_found);
    const auto code = [&](const std::string& text) {
        return code_of([&, path = write("floor.nc", text)] { static_cast<void>(read_seafloor(path)); });
    };
    EXPECT_EQ(code(whole.substr(0, whole.size() / 2)), ErrorCode::format);
    EXPECT_EQ(code("not a sea floor"), ErrorCode::format);
    EXPECT_EQ(code(""), ErrorCode::format);
    EXPECT_EQ(code(damaged), ErrorCode::format) << "the values' checksum says so";
    EXPECT_EQ(code(whole), ErrorCode::ok);
}

TEST_F(Files, GaugesAndRupturesThatAreNotWhatTheyShouldBeAreRefused) {
    for (const char* text : {"", "{}", "{\"gauges\": [{\"name\": 3}]}", "[1, 2"}) {
        EXPECT_EQ(code_of([&] { static_cast<void>(read_gauges(write("g.json", text))); }), ErrorCode::format)
            << text;
    }
    for (const char* text : {"", "{}", R"({"length_km": 1, "width_km": 1, "subfaults": []})",
                             R"({"length_km": 1, "width_km": 1, "subfaults": [[1, 2]]})"}) {
        EXPECT_EQ(code_of([&] { static_cast<void>(read_rupture(write("r.json", text))); }), ErrorCode::format)
            << text;
    }
    EXPECT_EQ(code_of([&] { static_cast<void>(read_gauges("/nonexistent")); }), ErrorCode::not_found);
    EXPECT_EQ(code_of([&] { static_cast<void>(read_rupture("/nonexistent")); }), ErrorCode::not_found);
}

TEST(Seafloor, TheMeanHeightDoesNotDependOnTheResolution) {
    const Seafloor floor = read_seafloor(data + "/north_pacific_etopo5.nc");
    const auto mean = [&](double resolution_arcmin) {
        const Grid grid = make_grid({.west = 140, .east = 150, .south = 30, .north = 40}, resolution_arcmin);
        double sum = 0;
        for (const double h : cell_heights_m(floor, grid, 0, grid.num_rows, 0, grid.num_columns)) sum += h;
        return sum / static_cast<double>(grid.num_rows * grid.num_columns);
    };
    const double fine = mean(1);
    EXPECT_NEAR(mean(5), fine, 1e-8 * std::abs(fine));
    EXPECT_NEAR(mean(60), fine, 1e-8 * std::abs(fine));
    EXPECT_NEAR(mean(7.5), fine, 1e-8 * std::abs(fine));
}

TEST(Seafloor, ACellsHeightDoesNotDependOnTheRangeAskedFor) {
    const Seafloor floor = read_seafloor(data + "/north_pacific_etopo5.nc");
    const Grid grid = make_grid({.west = 140, .east = 150, .south = 30, .north = 40}, 7);
    const auto whole = cell_heights_m(floor, grid, 0, grid.num_rows, 0, grid.num_columns);
    const auto part = cell_heights_m(floor, grid, 11, 5, 23, 3);
    for (std::int64_t r = 0; r < 5; ++r) {
        for (std::int64_t c = 0; c < 3; ++c) {
            EXPECT_EQ(part[static_cast<std::size_t>(r * 3 + c)],
                      whole[static_cast<std::size_t>((11 + r) * grid.num_columns + 23 + c)]);
        }
    }
}

TEST(Seafloor, TheFloorIsThatOfTheNorthPacific) {
    const Seafloor floor = read_seafloor(data + "/north_pacific_etopo5.nc");
    const auto height_at = [&](double longitude, double latitude) {
        const auto column = std::llround((longitude - floor.west_deg) / floor.step_deg);
        const auto row = std::llround((latitude - floor.south_deg) / floor.step_deg);
        return floor.height_m[static_cast<std::size_t>(row * floor.num_columns + column)];
    };
    EXPECT_LT(height_at(144, 38), -6500) << "the Japan trench";
    EXPECT_GT(height_at(138.5, 35.5), 1000) << "the mountains of central Honshu";
    EXPECT_NEAR(height_at(148.694, 38.711), -5660, 100) << "DART 21418's own depth";
    EXPECT_LT(height_at(203, 25), -3500) << "north of Hawaii";
    EXPECT_GT(height_at(204.4, 19.5), 1500) << "Mauna Loa";
}

TEST(Rupture, SlipGrowsFromNothingToAllOfItWithoutAJump) {
    const Subfault subfault{.start_s = 20, .rise_s = 12, .fall_s = 5};
    EXPECT_EQ(slip_fraction(subfault, 20), 0);
    EXPECT_NEAR(slip_fraction(subfault, 32), 12.0 / 17, 1e-12);
    EXPECT_EQ(slip_fraction(subfault, 37), 1);
    for (double t = 19; t < 40; t += 0.01) {
        const double more = slip_fraction(subfault, t + 0.01) - slip_fraction(subfault, t);
        EXPECT_GE(more, 0);
        EXPECT_LT(more, 2.01 * 0.01 / 17);
    }
}

TEST(Rupture, TohokusMomentIsThatOfAMagnitude9Earthquake) {
    const Rupture rupture = read_rupture(data + "/rupture_tohoku_2011.json");
    double area_slip_m3 = 0;
    for (const Subfault& s : rupture.subfaults)
        area_slip_m3 += s.slip_m * rupture.length_km * rupture.width_km * 1e6;
    const double moment_n_m = area_slip_m3 * 45e9;  // a mean rigidity of the model's
    EXPECT_NEAR(2.0 / 3 * (std::log10(moment_n_m) - 9.1), 9.1, 0.05);
}

TEST(Gauges, ArrivalAndCrestFollowTheRule) {
    std::vector<Sample> record;
    for (int minute = 0; minute < 120; ++minute) {
        double eta = minute == 5 ? 3.0 : 0.0;  // seismic waves, left out
        if (minute == 40) eta = 0.1;
        if (minute == 41) eta = 0.3;  // arrives half-way
        if (minute == 45) eta = 0.9;  // the first crest
        if (minute == 70) eta = 1.5;  // a later one, higher
        record.push_back({minute * 60.0, eta});
    }
    ASSERT_TRUE(arrival_s(record).has_value());
    EXPECT_NEAR(*arrival_s(record), 40.5 * 60, 1e-9);
    ASSERT_TRUE(first_crest(record).has_value());
    EXPECT_EQ(first_crest(record)->time_s, 45 * 60);
    EXPECT_EQ(first_crest(record)->eta_m, 0.9);
    record.resize(50);  // ends before a crest at 45 min is sure to be one
    EXPECT_FALSE(first_crest(record).has_value());
    record.resize(40);
    EXPECT_FALSE(arrival_s(record).has_value());
    EXPECT_FALSE(first_crest({}).has_value());
}

TEST(ExactSum, DoesNotDependOnTheOrder) {
    std::mt19937_64 random(7);
    std::vector<double> values;
    for (int i = 0; i < 10000; ++i) {
        values.push_back(
            std::ldexp(static_cast<double>(random() >> 11), -53 + static_cast<int>(random() % 60)) *
            (random() % 2 == 0 ? 1 : -1));
    }
    ExactSum forward;
    for (const double value : values) forward.add(value);
    std::shuffle(values.begin(), values.end(), random);
    ExactSum shuffled;
    for (const double value : values) shuffled.add(value);
    EXPECT_EQ(forward.minus(shuffled), 0);
    for (const double value : values) shuffled.add(-value);
    EXPECT_EQ(shuffled.value(), 0);
}

}  // namespace
}  // namespace hakobi::tsunami
