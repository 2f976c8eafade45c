// Mean, minimum and maximum of a field in an interval, against a loop that only moves the same memory: reads
// the field, reads and writes the four arrays that these methods have. In turns, each several times.
//
//     hakobi-bench-accumulate [ELEMENTS [ROUNDS]]        default: 8 million doubles, 11 rounds
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "diagnostics/accumulator.hpp"

namespace {

using hakobi::diagnostics::Accumulator;
using hakobi::diagnostics::CellMethod;

constexpr int puts_a_round = 4;

double seconds_of(const std::function<void()>& work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct Spread {
    double least, median, greatest;
};
Spread spread_of(std::vector<double> values) {
    std::ranges::sort(values);
    return {values.front(), values[values.size() / 2], values.back()};
}

}  // namespace

int main(int argc, char** argv) {
    const std::int64_t num = argc > 1 ? std::atoll(argv[1]) : 8'000'000;
    const int num_rounds = argc > 2 ? std::atoi(argv[2]) : 11;
    if (num <= 0 || num_rounds <= 0) {
        std::fprintf(stderr, "hakobi-bench-accumulate: ELEMENTS and ROUNDS are numbers above 0\n");
        return 2;
    }
    std::vector<double> field(static_cast<std::size_t>(num));
    for (std::size_t i = 0; i < field.size(); ++i) field[i] = 280 + static_cast<double>(i * 7919 % 1000) / 37;
    const std::array methods = {CellMethod{CellMethod::Kind::mean}, CellMethod{CellMethod::Kind::minimum},
                                CellMethod{CellMethod::Kind::maximum}};
    Accumulator accumulator(methods, std::numeric_limits<double>::quiet_NaN());
    accumulator.begin(num);
    std::vector<double> moved[4];
    for (std::vector<double>& array : moved) array.assign(field.size(), 0);

    const auto accumulate = [&] {
        for (int p = 0; p < puts_a_round; ++p) {
            accumulator.add(hakobi::ValueType::float64, std::as_bytes(std::span(field)).data(),
                            sizeof(double), num, 0, 1);
            accumulator.end_put(1);
        }
    };
    const auto move = [&] {
        for (int p = 0; p < puts_a_round; ++p) {
            double *a = moved[0].data(), *b = moved[1].data(), *c = moved[2].data(), *d = moved[3].data();
            for (std::size_t i = 0; i < field.size(); ++i) {
                a[i] += field[i];
                b[i] -= field[i];
                c[i] = field[i];
                d[i] = -field[i];
            }
        }
    };
    std::vector<double> seconds, floor, ratios;
    for (int round = -1; round < num_rounds; ++round) {
        const double own = seconds_of(accumulate), moving = seconds_of(move);
        if (round < 0) continue;
        seconds.push_back(own / puts_a_round);
        floor.push_back(moving / puts_a_round);
        ratios.push_back(own / moving);
    }
    const double bytes = static_cast<double>(num) * sizeof(double);
    const auto print = [&](const char* name, const Spread& spread, double scale) {
        std::printf("%-30s %9.3f [%.3f .. %.3f]\n", name, spread.median * scale, spread.least * scale,
                    spread.greatest * scale);
    };
    print("accumulating, s a GB of values", spread_of(seconds), 1e9 / bytes);
    print("moving alone, s a GB of values", spread_of(floor), 1e9 / bytes);
    print("ratio", spread_of(ratios), 1);
    std::vector<double> results(field.size());
    accumulator.write(methods[0], 0, results);
    return results[0] == field[0] && moved[2][0] == field[0] ? 0 : 1;
}
