#pragma once

#include <functional>
#include <vector>

#include "wilson.hpp"

namespace hakobi::lattice {

/// One exchange's operator and the fields that it is timed with.
struct MultContender {
    Wilson* wilson;
    Spinor *in, *out;
};

/// Times of one `mult` with one exchange, seconds; each sample is the slowest rank's mean over a batch.
struct MultTimes {
    std::vector<double> samples_s;
    double median_s = 0, low_s = 0, high_s = 0;  ///< quartiles around the median
    double communication_share = 0;  ///< of the time, inside the ghosts' start and wait, mean over the ranks
    int batch = 0;                   ///< mults in a sample
};

/// Times the contenders in turns, forwards and backwards, for `budget_s` altogether, at least 10 samples
/// each. Collective; times are equal on all ranks.
[[nodiscard]] std::vector<MultTimes> time_mults(const Comm& comm,
                                                const std::vector<MultContender>& contenders,
                                                double budget_s);

/// How many times as fast as `first` an operator is: the ratio of the medians, and what it is from where both
/// are at the quartiles that speak against it to where both are at those that speak for it. The interval
/// holds the ratio.
struct Speedup {
    double ratio = 0, low = 0, high = 0;
    [[nodiscard]] bool differs() const { return low > 1 || high < 1; }
};
[[nodiscard]] Speedup speedup_over(const MultTimes& first, const MultTimes& own);

}  // namespace hakobi::lattice
