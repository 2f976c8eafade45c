#pragma once

#include <string>
#include <utility>
#include <vector>

#include "contender.hpp"
#include "measure/record.hpp"
#include "measure/timing.hpp"

namespace hakobi::bench {

/// How the times of many single exchanges spread, in seconds; rank 0's.
struct Spread {
    double least_s = 0, median_s = 0, p90_s = 0, p99_s = 0, p999_s = 0, most_s = 0;
    std::vector<std::int64_t>
        counts;  ///< entry i: times from 2^i to 2^(i+1) microseconds; the first from 0 on
};

/// Collective: `num` exchanges one after the other, "alone" and "alternating" with a sweep over the field.
[[nodiscard]] std::vector<std::pair<std::string, Spread>> measure_spread(measure::Timing& timing,
                                                                         HaloContender& contender,
                                                                         const HaloCase& halo_case, int num);
[[nodiscard]] std::string spread_line(const std::string& name, const std::string& what, const Spread& spread);
void add_spread(measure::Record& record, const Spread& spread);

}  // namespace hakobi::bench
