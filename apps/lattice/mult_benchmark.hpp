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

/// Times the contenders in turns, forwards and backwards, for `budget_s` altogether, at least 10 samples each.
/// Collective; times are equal on all ranks.
[[nodiscard]] std::vector<MultTimes> time_mults(const Comm& comm,
                                                const std::vector<MultContender>& contenders,
                                                double budget_s);

/// Median of round-by-round ratios a / b, with their quartiles.
struct Ratio {
    double median = 0, low = 0, high = 0;
};
[[nodiscard]] Ratio compare(const std::vector<double>& a_s, const std::vector<double>& b_s);

}  // namespace hakobi::lattice
