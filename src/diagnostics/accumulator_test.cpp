#include "diagnostics/accumulator.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace hakobi::diagnostics {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

const std::array all_methods = {
    CellMethod{CellMethod::Kind::mean},     CellMethod{CellMethod::Kind::minimum},
    CellMethod{CellMethod::Kind::maximum},  CellMethod{CellMethod::Kind::sum},
    CellMethod{CellMethod::Kind::variance}, CellMethod{CellMethod::Kind::standard_deviation},
    CellMethod{CellMethod::Kind::range},    CellMethod{CellMethod::Kind::count, 280.5}};

/// Puts, each of them all elements, with a weight.
struct Puts {
    std::vector<std::vector<double>> values;
    std::vector<double> weights;
};

Accumulator accumulated(const Puts& puts, std::optional<FillValue> missing = nan) {
    Accumulator accumulator(all_methods, missing);
    accumulator.begin(std::ssize(puts.values[0]));
    for (std::size_t p = 0; p < puts.values.size(); ++p) {
        accumulator.add(ValueType::float64, std::as_bytes(std::span(puts.values[p])).data(), sizeof(double),
                        std::ssize(puts.values[p]), 0, puts.weights[p]);
        accumulator.end_put(puts.weights[p]);
    }
    return accumulator;
}

std::vector<double> result(const Accumulator& accumulator, const CellMethod& method, double fill = nan) {
    std::vector<double> results(static_cast<std::size_t>(accumulator.num_elements()));
    accumulator.write(method, fill, results);
    return results;
}

/// Returns what the puts give for an element, in extended precision.
double expected(const Puts& puts, std::size_t element, const CellMethod& method) {
    using Long = long double;
    Long weight = 0, sum = 0, weighted = 0;
    double least = inf, greatest = -inf, count = 0;
    const auto value_of = [&](std::size_t p) { return puts.values[p][element]; };
    for (std::size_t p = 0; p < puts.values.size(); ++p) {
        if (std::isnan(value_of(p))) continue;
        least = std::min(least, value_of(p));
        greatest = std::max(greatest, value_of(p));
        if (puts.weights[p] == 0) continue;
        weight += static_cast<Long>(puts.weights[p]);
        weighted += static_cast<Long>(puts.weights[p]) * static_cast<Long>(value_of(p));
        sum += static_cast<Long>(value_of(p));
        count += value_of(p) > method.above ? 1 : 0;
    }
    Long squares = 0;
    for (std::size_t p = 0; p < puts.values.size(); ++p) {
        if (std::isnan(value_of(p)) || puts.weights[p] == 0) continue;
        const Long delta = static_cast<Long>(value_of(p)) - weighted / weight;
        squares += static_cast<Long>(puts.weights[p]) * delta * delta;
    }
    using Kind = CellMethod::Kind;
    switch (method.kind) {
        case Kind::mean:
            return static_cast<double>(weighted / weight);
        case Kind::minimum:
            return least == inf ? nan : least;
        case Kind::maximum:
            return least == inf ? nan : greatest;
        case Kind::range:
            return least == inf ? nan : greatest - least;
        case Kind::sum:
            return weight == 0 ? nan : static_cast<double>(sum);
        case Kind::variance:
            return static_cast<double>(squares / weight);
        case Kind::standard_deviation:
            return static_cast<double>(std::sqrt(squares / weight));
        default:
            return weight == 0 ? nan : count;
    }
}

bool is_within_an_ulp(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || std::nextafter(a, -inf) <= b;
}

void expect_right(const Puts& puts) {
    const Accumulator accumulator = accumulated(puts);
    for (const CellMethod& method : all_methods) {
        const std::vector<double> results = result(accumulator, method);
        const bool is_spread =
            method.kind == CellMethod::Kind::variance || method.kind == CellMethod::Kind::standard_deviation;
        for (std::size_t i = 0; i < results.size(); ++i) {
            const double right = expected(puts, i, method);
            if (is_spread && !std::isnan(right)) {
                EXPECT_NEAR(results[i], right, 1e-12 * right) << i;
            } else {
                EXPECT_TRUE(is_within_an_ulp(results[i], right) && is_within_an_ulp(right, results[i]))
                    << attribute_of(method) << " of element " << i << ": " << results[i] << ", not " << right;
            }
        }
    }
}

TEST(Accumulator, AgreesWithExtendedPrecision) {
    std::mt19937_64 random(51);
    std::normal_distribution<double> kelvins(280, 10);
    for (const double part_missing : {0.0, 0.3}) {
        for (const bool is_even : {true, false}) {
            Puts puts;
            std::bernoulli_distribution is_missing(part_missing);
            for (int p = 0; p < 100; ++p) {
                std::vector<double> values(1500);
                for (double& value : values) value = is_missing(random) ? nan : kelvins(random);
                values[7] = nan;  // never there
                puts.values.push_back(std::move(values));
                puts.weights.push_back(p == 0 ? 0 : is_even ? 1 : 0.5 + p % 7);
            }
            expect_right(puts);
        }
    }
}

TEST(Accumulator, KeepsSumsThatCancel) {
    Puts puts{{{1e16}, {1.0}, {-1e16}, {3.0}}, {1, 1, 1, 1}};
    expect_right(puts);
    EXPECT_EQ(result(accumulated(puts), {CellMethod::Kind::mean})[0], 1.0);
    EXPECT_EQ(result(accumulated(puts), {CellMethod::Kind::sum})[0], 4.0);
    EXPECT_EQ(result(accumulated({{{inf}, {1.0}}, {1, 1}}), {CellMethod::Kind::mean})[0], inf);
}

TEST(Accumulator, SeesOnlyExtremesInAPutOfNoTime) {
    const Puts puts{{{300}, {280}}, {0, 1}};
    const Accumulator accumulator = accumulated(puts);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::mean})[0], 280);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::maximum})[0], 300);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::range})[0], 20);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::count, 280.5})[0], 0);
    EXPECT_EQ(result(accumulated({{{300}}, {0}}), {CellMethod::Kind::mean}, -1)[0], -1);
}

TEST(Accumulator, LeavesFillValuesAndNaNsOut) {
    const Accumulator accumulator = accumulated({{{-999, 1, nan, -999}, {2, -999, 4, -999}}, {1, 3}}, -999.0);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::mean}, -999), (std::vector<double>{2, 1, 4, -999}));
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::minimum}, -999), (std::vector<double>{2, 1, 4, -999}));
    EXPECT_EQ(accumulator.num_missing(), 5);
}

TEST(Accumulator, TakesAllTypesAndStrides) {
    const auto check = [](ValueType type, auto value) {
        const std::array values = {value, decltype(value){}, static_cast<decltype(value)>(value + 1)};
        Accumulator accumulator(all_methods, std::nullopt);
        accumulator.begin(3);
        accumulator.add(type, std::as_bytes(std::span(values)).data(), 2 * sizeof value, 2, 1, 1);
        accumulator.end_put(1);
        const std::vector<double> results = result(accumulator, {CellMethod::Kind::maximum});
        EXPECT_EQ(results[1], static_cast<double>(value));
        EXPECT_EQ(results[2], static_cast<double>(value) + 1);
        EXPECT_TRUE(std::isnan(results[0]));
    };
    check(ValueType::float64, 1.5);
    check(ValueType::float32, 1.5F);
    check(ValueType::int8, std::int8_t{-7});
    check(ValueType::uint8, std::uint8_t{200});
    check(ValueType::int16, std::int16_t{-700});
    check(ValueType::uint16, std::uint16_t{60000});
    check(ValueType::int32, std::int32_t{-70000});
    check(ValueType::uint32, std::uint32_t{4'000'000'000});
}

/// The first missing value of all comes behind elements that the same put has added to.
TEST(Accumulator, KeepsTheWeightsOfElementsBeforeTheFirstMissingOne) {
    Puts puts;
    for (int p = 0; p < 3; ++p) {
        puts.values.emplace_back(2000, 1.0 + p);
        puts.weights.push_back(1 + p);
    }
    puts.values[1].back() = nan;
    expect_right(puts);
    // The same in the second of two blocks.
    Accumulator accumulator(all_methods, nan);
    accumulator.begin(2);
    for (const auto& [values, weight] :
         {std::pair{std::array{1.0, 1.0}, 1.0}, std::pair{std::array{3.0, nan}, 2.0}}) {
        for (std::int64_t i = 0; i < 2; ++i)
            accumulator.add(ValueType::float64, std::as_bytes(std::span(values)).data() + 8 * i, 8, 1, i,
                            weight);
        accumulator.end_put(weight);
    }
    EXPECT_DOUBLE_EQ(result(accumulator, {CellMethod::Kind::mean})[0], 7.0 / 3);
    EXPECT_EQ(result(accumulator, {CellMethod::Kind::mean})[1], 1);
}

/// Other elements, and which of them are missing, change no bit.
TEST(Accumulator, DependsOnNoOtherElement) {
    std::mt19937_64 random(3);
    std::uniform_real_distribution<double> values(-1, 1);
    Puts one, many;
    for (int p = 0; p < 50; ++p) {
        const double value = values(random);
        std::vector<double> all(1000, p % 3 == 0 ? nan : 1.0);
        all[777] = value;
        one.values.push_back({value});
        many.values.push_back(all);
        one.weights.push_back(1 + 0.1 * (p % 4));
        many.weights.push_back(one.weights.back());
    }
    for (const CellMethod& method : all_methods)
        EXPECT_EQ(result(accumulated(one), method)[0], result(accumulated(many), method)[777]);
}

}  // namespace
}  // namespace hakobi::diagnostics
