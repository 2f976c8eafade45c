// Messages that GribEncoder makes: their values within the packing's precision, their keywords those given,
// their bytes the same whatever came before.

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <hakobi/grib.hpp>
#include <limits>
#include <thread>

#include "format/grib/eccodes.hpp"

namespace hakobi {
namespace {

class GribEncoding : public ::testing::Test {
  protected:
    void SetUp() override {
        if (!format::grib::Eccodes::get().ok()) GTEST_SKIP() << format::grib::Eccodes::get().status().text();
    }
};

Key key_of(std::string_view levtype, int level, int param, int step) {
    Key key = Key::parse("class=rd,stream=oper,expver=hako,date=20261123,time=0600,type=fc");
    key.set("levtype", levtype).set("step", std::to_string(step)).set("param", std::to_string(param));
    if (levtype != "sfc") key.set("levelist", std::to_string(level));
    return key;
}

std::vector<double> values_of(std::int64_t count, double phase) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < count; ++i)
        values.push_back(20 * std::sin(0.01 * static_cast<double>(i) + phase));
    return values;
}

/// Coefficients that fall off as a field's do; imaginary parts of m = 0 are zero.
std::vector<double> coefficients_of(int truncation, double phase) {
    std::vector<double> values;
    for (int m = 0; m <= truncation; ++m) {
        for (int n = m; n <= truncation; ++n) {
            const double size = std::pow(1 + n, -2.0);
            values.push_back(size * std::sin(n + phase));
            values.push_back(m == 0 ? 0 : size * std::cos(2 * n + m + phase));
        }
    }
    return values;
}

std::vector<double> vertical_of(int levels) {
    std::vector<double> both(static_cast<std::size_t>(2 * (levels + 1)), 0);
    for (int k = 0; k <= levels; ++k)
        both[static_cast<std::size_t>(levels + 1 + k)] = static_cast<double>(k) / levels;
    return both;
}

TEST_F(GribEncoding, KeepsAGridFieldWithinItsPacking) {
    for (const char* packing : {"simple", "ccsds"}) {
        const GribEncoder encoder({.points_per_row = reduced_gaussian_rows(80)}, {.type = packing});
        ASSERT_EQ(encoder.num_values(), 35718);
        const std::vector<double> values = values_of(encoder.num_values(), 0);
        const std::vector<std::byte> message = encoder.encode(key_of("pl", 500, 131, 24), values);
        EXPECT_EQ(grib_length(message), static_cast<std::int64_t>(message.size()));
        const std::vector<double> unpacked = grib_values(message);
        ASSERT_EQ(unpacked.size(), values.size());
        for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(unpacked[i], values[i], 40.0 / 65535);
        EXPECT_EQ(grib_key(message).get("levelist"), "500");
        EXPECT_EQ(grib_number(message, "bitsPerValue"), 16);
        EXPECT_EQ(grib_number(message, "global"), 1);
        EXPECT_EQ(grib_number(message, "N"), 80);
        EXPECT_LT(message.size(), std::string(packing) == "simple" ? 72100U : 60000U);
    }
}

TEST_F(GribEncoding, KeepsASpectralField) {
    for (const int truncation : {21, 159}) {
        const GribEncoder encoder({.truncation = truncation, .vertical = vertical_of(60)});
        const std::vector<double> values = coefficients_of(truncation, 0);
        for (const char* levtype : {"ml", "pl"}) {
            const std::vector<std::byte> message = encoder.encode(key_of(levtype, 17, 138, 3), values);
            const std::vector<double> unpacked = grib_values(message);
            ASSERT_EQ(unpacked.size(), values.size());
            for (std::size_t i = 0; i < values.size(); ++i) ASSERT_NEAR(unpacked[i], values[i], 2e-5);
            EXPECT_EQ(grib_number(message, "J"), truncation);
            EXPECT_EQ(grib_number(message, "NV"), std::string_view(levtype) == "ml" ? 122 : 0);
        }
    }
}

TEST_F(GribEncoding, GivesBackTheKeywordsThatItWasGiven) {
    const GribEncoder grid({.points_per_row = reduced_gaussian_rows(32)});
    for (const char* levtype : {"pl", "ml", "sfc"}) {
        for (const int param : {10, 129, 130, 131, 132, 138, 155}) {
            Key key = key_of(levtype, 85, param, 240);
            EXPECT_EQ(grib_key(grid.encode(key, values_of(grid.num_values(), 1))).text(),
                      [&] {  // in ecCodes' order
                          Key same;
                          const Key read = grib_key(grid.encode(key, values_of(grid.num_values(), 1)));
                          for (const auto& [keyword, value] : read.entries())
                              same.set(keyword, key.get(keyword));
                          return same.entries().size() == key.entries().size() ? same.text()
                                                                               : "other keywords";
                      }())
                << levtype << " " << param;
        }
    }
    Key member = key_of("pl", 850, 130, 6);
    member.set("stream", "enfo").set("type", "pf").set("number", "17");
    EXPECT_EQ(grib_key(grid.encode(member, values_of(grid.num_values(), 1))).get("number"), "17");
}

TEST_F(GribEncoding, IsTheSameWhateverWasEncodedBefore) {
    const GribEncoder grid({.points_per_row = reduced_gaussian_rows(32)}),
        other({.points_per_row = reduced_gaussian_rows(32)});
    const GribEncoder spectral({.truncation = 42, .vertical = vertical_of(60)});
    const auto field = [&](const GribEncoder& encoder, int level, int step) {
        return encoder.encode(key_of("ml", level, 131, step), values_of(encoder.num_values(), level));
    };
    const auto first = field(grid, 7, 6);
    (void)field(grid, 60, 240);
    (void)grid.encode(key_of("pl", 500, 129, 12),
                      std::vector<double>(static_cast<std::size_t>(grid.num_values()), 3.0));
    (void)grid.encode(key_of("ml", 5, 131, 12),
                      std::vector<double>(static_cast<std::size_t>(grid.num_values()), 3.0));
    EXPECT_EQ(field(grid, 7, 6), first);
    EXPECT_EQ(field(other, 7, 6), first);
    const GribEncoder compressed({.points_per_row = reduced_gaussian_rows(32)}, {.type = "ccsds"});
    const auto small = field(compressed, 7, 6);
    (void)compressed.encode(key_of("ml", 5, 131, 12),
                            std::vector<double>(values_of(compressed.num_values(), 0).size(), 3.0));
    EXPECT_EQ(field(compressed, 7, 6), small);
    const auto coefficients = spectral.encode(key_of("ml", 1, 138, 0), coefficients_of(42, 0));
    (void)spectral.encode(key_of("ml", 2, 138, 1), coefficients_of(42, 1));
    EXPECT_EQ(spectral.encode(key_of("ml", 1, 138, 0), coefficients_of(42, 0)), coefficients);
    std::vector<std::byte> elsewhere;
    std::thread([&] { elsewhere = field(grid, 7, 6); }).join();
    EXPECT_EQ(elsewhere, first);
}

TEST_F(GribEncoding, RefusesWhatGribCannotHold) {
    const auto code_of = [](const auto& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.code();
        }
        return ErrorCode::ok;
    };
    EXPECT_EQ(code_of([] { GribEncoder({.truncation = 0}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([] { GribEncoder({.truncation = 21}, {.type = "zip"}); }), ErrorCode::invalid_argument);
    EXPECT_EQ(code_of([] { (void)reduced_gaussian_rows(33); }), ErrorCode::not_found);
    const GribEncoder encoder({.points_per_row = reduced_gaussian_rows(32)});
    std::vector<double> values = values_of(encoder.num_values(), 0);
    const auto encode = [&](const Key& key) { return code_of([&] { (void)encoder.encode(key, values); }); };
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0)), ErrorCode::ok);
    EXPECT_EQ(encode(key_of("dp", 500, 130, 0)), ErrorCode::invalid_argument);
    EXPECT_EQ(encode(key_of("pl", 500, 999999, 0)), ErrorCode::invalid_argument);
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0).set("param", "temperature")), ErrorCode::invalid_argument);
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0).set("colour", "red")), ErrorCode::invalid_argument);
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0).set("class", "nonsense")), ErrorCode::invalid_argument);
    values[17] = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0)), ErrorCode::invalid_argument);
    values.pop_back();
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0)), ErrorCode::invalid_argument);
    EXPECT_EQ(encode(key_of("pl", 500, 130, 0)), ErrorCode::invalid_argument);
}

TEST_F(GribEncoding, IsArchivedByTheKeywordsOfTheMessage) {
    const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "hakobi_grib_store";
    std::filesystem::remove_all(folder);
    Store store = Store::open(folder.string(), {.schema = "weather"});
    const GribEncoder encoder({.points_per_row = reduced_gaussian_rows(32)});
    const Key key = key_of("pl", 500, 130, 6);
    const std::vector<std::byte> message = encoder.encode(key, values_of(encoder.num_values(), 0));
    store.archive_grib(message);
    store.flush();
    EXPECT_EQ(store.retrieve(key), message);
    EXPECT_EQ(store.list("param=t,levelist=500")[0].form, "grib");
    EXPECT_THROW(store.archive_grib(std::span(message).first(100)), Error);
    store.close();
    std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hakobi
