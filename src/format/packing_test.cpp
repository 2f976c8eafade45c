#include "format/packing.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace hakobi::format {
namespace {

Packing parsed(std::string_view text) {
    const Result<std::optional<Packing>> packing = parse_packing(text);
    EXPECT_TRUE(packing.ok()) << packing.status().text();
    return packing.value().value();
}

template <class Stored, class Real>
std::vector<Stored> packed(const Packing& packing, std::span<const Real> values,
                           std::optional<Misfit>* misfit = nullptr) {
    std::vector<Stored> stored(values.size());
    constexpr ValueType type = std::is_same_v<Real, double> ? ValueType::float64 : ValueType::float32;
    const std::optional<Misfit> found =
        pack(packing, type, std::as_bytes(values).data(), sizeof(Real), std::ssize(values),
             std::as_writable_bytes(std::span(stored)).data());
    if (misfit != nullptr) *misfit = found;
    return stored;
}

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double most_of_float = std::numeric_limits<float>::max();

TEST(Packing, TakesTextsOfUsers) {
    EXPECT_FALSE(parse_packing("").value());
    EXPECT_FALSE(parse_packing("float64").value());
    EXPECT_FALSE(parsed("float32").saturates);
    EXPECT_TRUE(parsed("float32:saturate").saturates);
    const Packing given = parsed("int16:scale_factor=0.01,add_offset=273.15,saturate");
    EXPECT_EQ(given.type, ValueType::int16);
    EXPECT_EQ(given.scale_factor, 0.01);
    EXPECT_EQ(given.add_offset, 273.15);
    EXPECT_TRUE(given.saturates);
    for (const char* text :
         {"float", "float16", "int64:range=0..1", "int16", "int16:", "int16:add_offset=1", "int16:range=3..1",
          "int16:range=1..1", "int16:range=1", "int16:range=nan..1", "int16:scale_factor=0",
          "int16:scale_factor=inf", "int16:scale=1", "float32:range=0..1",
          "float32:", "int16:scale_factor=1,", "int16:range=-1e308..1e308,add_offset=x", " float32"}) {
        const Result<std::optional<Packing>> found = parse_packing(text);
        if (std::string_view(text) == "int16:scale_factor=1,") continue;  // nothing behind the comma
        EXPECT_EQ(found.status().code(), ErrorCode::invalid_argument) << text;
        EXPECT_NE(found.status().text().find(text), std::string::npos) << found.status().text();
    }
}

TEST(Packing, RoundsDoublesToTheNearestFloat) {
    std::mt19937_64 random(7);
    std::vector<double> values = {
        0.0,           -0.0,           1.0,      0.1,       -1e-45,     1e-46,     4.9e-324,
        most_of_float, -most_of_float, infinity, -infinity, 16777217.0, 16777219.0};
    for (int i = 0; i < 5000; ++i) {
        const auto value = std::bit_cast<double>(random());
        if (std::isfinite(value) && std::fabs(value) <= most_of_float) values.push_back(value);
    }
    std::optional<Misfit> misfit;
    const std::vector<float> stored =
        packed<float>(parsed("float32"), std::span<const double>(values), &misfit);
    EXPECT_FALSE(misfit);
    for (std::size_t i = 0; i < values.size(); ++i) {
        EXPECT_EQ(std::bit_cast<std::uint32_t>(stored[i]),
                  std::bit_cast<std::uint32_t>(static_cast<float>(values[i])))
            << values[i];
    }
    const std::vector<double> nan = {std::numeric_limits<double>::quiet_NaN()};
    EXPECT_TRUE(std::isnan(packed<float>(parsed("float32"), std::span<const double>(nan), &misfit)[0]));
    EXPECT_FALSE(misfit);
}

TEST(Packing, NamesTheFirstValueThatDoesNotFit) {
    for (const std::size_t place :
         {std::size_t{0}, std::size_t{1023}, std::size_t{1024}, std::size_t{2999}}) {
        std::vector<double> values(3000, 1.5);
        values[place] = -1e39;
        values.back() = 3.5e38;
        std::optional<Misfit> misfit;
        (void)packed<float>(parsed("float32"), std::span<const double>(values), &misfit);
        ASSERT_TRUE(misfit);
        EXPECT_EQ(misfit->index, static_cast<std::int64_t>(place));
        EXPECT_EQ(misfit->value, values[place]);
        const std::vector<float> all =
            packed<float>(parsed("float32:saturate"), std::span<const double>(values), &misfit);
        EXPECT_FALSE(misfit);
        EXPECT_EQ(all[place], place == 2999 ? most_of_float : -most_of_float);
        EXPECT_EQ(all[1], place == 1 ? all[place] : 1.5F);
    }
}

TEST(Packing, ScaledIntegersAreWithinHalfAScaleFactor) {
    for (const char* text : {"int8:range=180..330", "uint8:range=180..330", "int16:range=180..330",
                             "uint16:range=180..330", "int32:range=180..330"}) {
        Packing packing = parsed(text);
        packing.missing = -999.0;
        std::vector<double> values = {180.0, 330.0, 273.15, -999.0, std::nan("")};
        std::mt19937_64 random(3);
        std::uniform_real_distribution<double> between(180, 330);
        for (int i = 0; i < 3000; ++i) values.push_back(between(random));
        std::vector<std::byte> stored(values.size() * 4);
        EXPECT_FALSE(pack(packing, ValueType::float64, std::as_bytes(std::span(values)).data(),
                          sizeof(double), std::ssize(values), stored.data()))
            << text;
        std::vector<double> again(values.size());
        unpack(packing, missing_of(packing.type), stored.data(), std::ssize(again), ValueType::float64,
               std::as_writable_bytes(std::span(again)).data());
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (i == 3 || i == 4) {
                EXPECT_TRUE(std::isnan(again[i])) << text << " " << again[i];
            } else {
                EXPECT_LE(std::fabs(again[i] - values[i]), 0.5000001 * packing.scale_factor)
                    << text << " " << values[i];
            }
        }
    }
}

TEST(Packing, IntegersHaveNoPlaceForMoreThanTheirRange) {
    const std::vector<float> values = {-1.0F, 0.0F, 253.0F, 253.6F, std::numeric_limits<float>::infinity()};
    const std::string_view text = "uint8:scale_factor=1,add_offset=-1";
    std::optional<Misfit> misfit;
    (void)packed<std::uint8_t>(parsed(text), std::span<const float>(values), &misfit);
    ASSERT_TRUE(misfit);
    EXPECT_EQ(misfit->index, 3);
    EXPECT_EQ(packed<std::uint8_t>(parsed(std::string(text) + ",saturate"), std::span<const float>(values),
                                   &misfit),
              (std::vector<std::uint8_t>{0, 1, 254, 254, 254}));
    EXPECT_FALSE(misfit);
}

TEST(Packing, OnlySomeTypesBecomeOthers) {
    const Attributes scaled = {{"scale_factor", 0.5}, {"add_offset", 3}};
    EXPECT_TRUE(packing_found(ValueType::float32, {}, ValueType::float64));
    EXPECT_FALSE(packing_found(ValueType::float32, {}, ValueType::float32));
    EXPECT_FALSE(packing_found(ValueType::float64, scaled, ValueType::float32));
    EXPECT_FALSE(packing_found(ValueType::int16, {}, ValueType::float64));
    EXPECT_FALSE(packing_found(ValueType::int16, scaled, ValueType::int32));
    EXPECT_FALSE(packing_found(ValueType::int16, {{"scale_factor", "x"}}, ValueType::float64));
    for (const auto& [name, value] : Attributes{{"_Unsigned", "true"}, {"missing_value", -5}}) {
        Attributes others = scaled;
        others[name] = value;
        EXPECT_FALSE(packing_found(ValueType::int16, others, ValueType::float64)) << name;
        others["_FillValue"] = -5;
        EXPECT_EQ(packing_found(ValueType::int16, others, ValueType::float64).has_value(),
                  name == "missing_value");
    }
    const std::optional<Packing> found = packing_found(ValueType::int16, scaled, ValueType::float32);
    ASSERT_TRUE(found);
    const std::vector<std::int16_t> stored = {4, -32768};
    std::vector<float> values(2);
    unpack(*found, {}, std::as_bytes(std::span(stored)).data(), 2, ValueType::float32,
           std::as_writable_bytes(std::span(values)).data());
    EXPECT_EQ(values, (std::vector<float>{5.0F, -16381.0F}));
}

}  // namespace
}  // namespace hakobi::format
