#include "histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "measure/statistics.hpp"

namespace hakobi::bench {
namespace {

constexpr double num_classes = 30;
/// Rates far above the links' belong to the last class: a token bucket lets a first burst through at any
/// rate.
constexpr std::size_t most_classes = 100;
constexpr int bar_length = 50;
constexpr std::size_t num_tenths = 10;

double class_width(double full_mb_s) {
    const double wanted = full_mb_s / num_classes;
    const double power = std::pow(10.0, std::floor(std::log10(wanted)));
    for (const double step : {1.0, 2.0, 5.0})
        if (step * power >= wanted) return step * power;
    return 10 * power;
}

}  // namespace

std::int64_t RateHistogram::num() const {
    return std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
}

RateHistogram histogram_of(std::span<const double> rates_mb_s, double full_mb_s) {
    RateHistogram result;
    result.median_mb_s = measure::median(rates_mb_s);
    result.least_mb_s = measure::quantile(rates_mb_s, 0);
    result.percentile_1_mb_s = measure::quantile(rates_mb_s, 0.01);
    result.most_mb_s = measure::quantile(rates_mb_s, 1);
    for (std::size_t i = 0; i < num_tenths; ++i) {
        const std::size_t begin = i * rates_mb_s.size() / num_tenths,
                          end = (i + 1) * rates_mb_s.size() / num_tenths;
        if (end > begin)
            result.tenths_mb_s.push_back(measure::median(rates_mb_s.subspan(begin, end - begin)));
    }
    result.class_mb_s = class_width(full_mb_s > 0 ? full_mb_s : result.median_mb_s);
    for (const double rate : rates_mb_s) {
        const auto at = std::min(static_cast<std::size_t>(rate / result.class_mb_s), most_classes - 1);
        if (result.counts.size() <= at) result.counts.resize(at + 1);
        ++result.counts[at];
    }
    return result;
}

std::string histogram_text(const std::string& title, const RateHistogram& histogram) {
    char line[160];
    std::snprintf(line, sizeof line,
                  "%s: %lld messages, MB/s: least %.1f, 1 %% below %.1f, median %.1f, most %.1f\n",
                  title.c_str(), static_cast<long long>(histogram.num()), histogram.least_mb_s,
                  histogram.percentile_1_mb_s, histogram.median_mb_s, histogram.most_mb_s);
    std::string text = line;
    const std::int64_t most = *std::max_element(histogram.counts.begin(), histogram.counts.end());
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
        const std::int64_t count = histogram.counts[i];
        if (count == 0) continue;
        const double low = histogram.class_mb_s * static_cast<double>(i);
        const auto length = static_cast<std::size_t>((bar_length * count + most - 1) / most);
        std::snprintf(line, sizeof line, "%8g to %-8g %8lld ", low, low + histogram.class_mb_s,
                      static_cast<long long>(count));
        text += line + std::string(length, '#') + '\n';
    }
    return text;
}

void add_histogram(measure::Record& record, const RateHistogram& histogram) {
    record["num"] = histogram.num();
    record["least_mb_s"] = histogram.least_mb_s;
    record["percentile_1_mb_s"] = histogram.percentile_1_mb_s;
    record["median_mb_s"] = histogram.median_mb_s;
    record["most_mb_s"] = histogram.most_mb_s;
    record["class_mb_s"] = histogram.class_mb_s;
    record["counts"] = histogram.counts;
    record["tenths_mb_s"] = histogram.tenths_mb_s;
}

}  // namespace hakobi::bench
