#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "measure/record.hpp"

namespace hakobi::bench {

/// How the rates of many single messages spread, in MB/s.
struct RateHistogram {
    double class_mb_s = 1;             ///< width of a class
    std::vector<std::int64_t> counts;  ///< entry i: from i to i + 1 widths
    double least_mb_s = 0, percentile_1_mb_s = 0, median_mb_s = 0, most_mb_s = 0;
    std::vector<double> tenths_mb_s;  ///< medians of each tenth of the messages, in their order
    [[nodiscard]] std::int64_t num() const;
};

/// The histogram of rates above 0, which are in the order of their messages, in about 30 classes up to
/// `full_mb_s` (0: up to the median), 1, 2 or 5 times a power of ten wide.
[[nodiscard]] RateHistogram histogram_of(std::span<const double> rates_mb_s, double full_mb_s);
/// Lines for people: the classes that are not empty, with bars.
[[nodiscard]] std::string histogram_text(const std::string& title, const RateHistogram& histogram);
void add_histogram(measure::Record& record, const RateHistogram& histogram);

}  // namespace hakobi::bench
