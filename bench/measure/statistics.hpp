#pragma once

#include <span>

// Statistics that assume nothing about the distribution of times: they have long tails on one side, several
// modes, and outliers that are real. Everything here rests on order statistics; no sample is ever dropped.

namespace hakobi::measure {

struct Interval {
    double low = 0, high = 0;
    [[nodiscard]] bool contains(double value) const noexcept { return low <= value && value <= high; }
};

/// The value below which a share `p` (0 to 1) of `samples` lies, interpolated between neighbours; NaN when
/// empty.
[[nodiscard]] double quantile(std::span<const double> samples, double p);
[[nodiscard]] inline double median(std::span<const double> samples) {
    return quantile(samples, 0.5);
}

/// An interval between two of the samples that holds the median of what they were drawn from with at least
/// `confidence`: the number of samples below the true median is binomial(n, 1/2), whatever the distribution.
/// With fewer samples than the confidence asks for (5 or less at 0.95) it is the whole range, which holds it
/// with less.
[[nodiscard]] Interval median_interval(std::span<const double> samples, double confidence);

/// The smallest number of samples from which median_interval can reach `confidence`: 6 at 0.95, 8 at 0.99.
[[nodiscard]] int samples_needed(double confidence);

/// The summary of a set of samples; `ci` is median_interval at `confidence`.
struct Summary {
    int num_samples = 0;
    double median = 0;
    double ci_low = 0, ci_high = 0;
    double quartile_low = 0, quartile_high = 0;
    double min = 0, max = 0;
    int num_outliers =
        0;  ///< farther than three interquartile ranges outside the quartiles; counted, never dropped
    double confidence = 0;
    /// Half the distance between the quartiles: what is written behind ±, here and in Python
    /// (hakobi/statistics.py).
    [[nodiscard]] double spread() const noexcept { return (quartile_high - quartile_low) / 2; }
    /// The same as a part of the median; 0 when that is 0.
    [[nodiscard]] double relative_spread() const noexcept { return median != 0 ? spread() / median : 0; }
    /// Width of the interval relative to the median: what the repetition rule makes narrow. 0 when the median
    /// is 0.
    [[nodiscard]] double relative_width() const noexcept {
        return median != 0 ? (ci_high - ci_low) / median : 0;
    }
};
/// The confidence of comparisons, here and in Python: the same thing twice is called different in about 2 of
/// 100.
constexpr double comparison_confidence = 0.98;

[[nodiscard]] Summary summarize(std::span<const double> samples, double confidence = 0.95);

/// Two contenders whose samples were taken in turn.
struct Comparison {
    double ratio = 1;  ///< median over the rounds of a's sample divided by b's of the same round
    double ci_low = 1, ci_high = 1;
    int num_rounds = 0;
    bool differs = false;  ///< the interval excludes 1, and there were rounds enough to say so
};

/// Compares round by round, so that drift of the machine cancels: sample i of `a` with sample i of `b`, which
/// were taken one after the other. Samples must be positive; the longer series is cut. Two equal contenders
/// are called different in a share of at most 1 - confidence.
[[nodiscard]] Comparison compare_interleaved(std::span<const double> a, std::span<const double> b,
                                             double confidence = comparison_confidence);

}  // namespace hakobi::measure
