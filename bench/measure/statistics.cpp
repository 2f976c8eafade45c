#include "measure/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hakobi::measure {
namespace {

double quantile_of_sorted(const std::vector<double>& sorted, double p) {
    if (sorted.empty()) return std::numeric_limits<double>::quiet_NaN();
    const double place = std::clamp(p, 0.0, 1.0) * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(place);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    // Not a + f (b - a) alone: equal neighbours must give exactly their value.
    const double share = place - static_cast<double>(below);
    return sorted[below] == sorted[above] ? sorted[below]
                                          : sorted[below] + share * (sorted[above] - sorted[below]);
}

/// How many samples may be cut off at each end: the largest k with P(binomial(n, 1/2) < k) <= (1 -
/// confidence) / 2; -1 when even the whole range holds the median less often than asked.
int cut_off(int n, double confidence) {
    const double tail = (1 - confidence) / 2;
    double below = 0;
    for (int k = 0; k <= n / 2; ++k) {
        const double log_probability =
            std::lgamma(n + 1.0) - std::lgamma(k + 1.0) - std::lgamma(n - k + 1.0) - n * std::log(2.0);
        below += std::exp(log_probability);
        if (below > tail) return k - 1;
    }
    return n / 2;
}

Interval interval_of_sorted(const std::vector<double>& sorted, double confidence) {
    if (sorted.empty()) {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        return {nan, nan};
    }
    const auto cut =
        static_cast<std::size_t>(std::max(0, cut_off(static_cast<int>(sorted.size()), confidence)));
    return {sorted[cut], sorted[sorted.size() - 1 - cut]};
}

std::vector<double> sorted_copy(std::span<const double> samples) {
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

}  // namespace

double quantile(std::span<const double> samples, double p) {
    return quantile_of_sorted(sorted_copy(samples), p);
}

Interval median_interval(std::span<const double> samples, double confidence) {
    return interval_of_sorted(sorted_copy(samples), confidence);
}

int samples_needed(double confidence) {
    int n = 1;
    while (cut_off(n, confidence) < 0) ++n;
    return n;
}

Summary summarize(std::span<const double> samples, double confidence) {
    const std::vector<double> sorted = sorted_copy(samples);
    Summary summary;
    summary.num_samples = static_cast<int>(sorted.size());
    summary.confidence = confidence;
    if (sorted.empty()) return summary;
    summary.median = quantile_of_sorted(sorted, 0.5);
    const Interval ci = interval_of_sorted(sorted, confidence);
    summary.ci_low = ci.low;
    summary.ci_high = ci.high;
    summary.min = sorted.front();
    summary.max = sorted.back();
    summary.quartile_low = quantile_of_sorted(sorted, 0.25);
    summary.quartile_high = quantile_of_sorted(sorted, 0.75);
    const double far = 3 * (summary.quartile_high - summary.quartile_low);
    summary.num_outliers = static_cast<int>(std::count_if(sorted.begin(), sorted.end(), [&](double sample) {
        return sample < summary.quartile_low - far || sample > summary.quartile_high + far;
    }));
    return summary;
}

Comparison compare_interleaved(std::span<const double> a, std::span<const double> b, double confidence) {
    std::vector<double> ratios(std::min(a.size(), b.size()));
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = a[i] / b[i];
    Comparison comparison;
    comparison.num_rounds = static_cast<int>(ratios.size());
    if (ratios.empty()) return comparison;
    std::sort(ratios.begin(), ratios.end());
    comparison.ratio = quantile_of_sorted(ratios, 0.5);
    const Interval ci = interval_of_sorted(ratios, confidence);
    comparison.ci_low = ci.low;
    comparison.ci_high = ci.high;
    comparison.differs = cut_off(comparison.num_rounds, confidence) >= 0 && !ci.contains(1.0);
    return comparison;
}

}  // namespace hakobi::measure
