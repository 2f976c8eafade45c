#include "histogram.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "measure/statistics.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

Spread spread_of(std::vector<double> times_s) {
    Spread spread;
    for (const double time_s : times_s) {
        const auto bin =
            static_cast<std::size_t>(std::max(0.0, std::floor(std::log2(std::max(time_s * 1e6, 1.0)))));
        if (spread.counts.size() <= bin) spread.counts.resize(bin + 1);
        ++spread.counts[bin];
    }
    std::sort(times_s.begin(), times_s.end());
    spread.least_s = times_s.front();
    spread.most_s = times_s.back();
    spread.median_s = measure::median(times_s);
    spread.p90_s = measure::quantile(times_s, 0.9);
    spread.p99_s = measure::quantile(times_s, 0.99);
    spread.p999_s = measure::quantile(times_s, 0.999);
    return spread;
}

}  // namespace

std::vector<std::pair<std::string, Spread>> measure_spread(measure::Timing& timing, HaloContender& contender,
                                                           const HaloCase& halo_case, int num) {
    std::vector<std::pair<std::string, Spread>> result;
    double* const values = contender.values();
    const std::int64_t num_values = halo_case.num_values();
    for (const bool is_alternating : {false, true}) {
        std::vector<double> times_s;
        mpi::check(MPI_Barrier(timing.comm().state().internal), "MPI_Barrier");
        for (int i = 0; i < num; ++i) {
            // A step's worth of memory traffic: every value is read and written.
            for (std::int64_t v = 0; is_alternating && v < num_values; ++v)
                values[v] = 0.999 * values[v] + 1e-3;
            times_s.push_back(measure::Timing::sample_alone([&] { contender.exchange(); }));
        }
        result.emplace_back(is_alternating ? "alternating" : "alone", spread_of(std::move(times_s)));
    }
    return result;
}

std::string spread_line(const std::string& name, const std::string& what, const Spread& spread) {
    char line[200];
    std::snprintf(line, sizeof line,
                  "%-22s %-12s us: least %.1f, median %.1f, 90 %% %.1f, 99 %% %.1f, 99.9 %% %.1f, most %.1f",
                  name.c_str(), what.c_str(), 1e6 * spread.least_s, 1e6 * spread.median_s, 1e6 * spread.p90_s,
                  1e6 * spread.p99_s, 1e6 * spread.p999_s, 1e6 * spread.most_s);
    return line;
}

void add_spread(measure::Record& record, const Spread& spread) {
    record["least_s"] = spread.least_s;
    record["median_s"] = spread.median_s;
    record["p90_s"] = spread.p90_s;
    record["p99_s"] = spread.p99_s;
    record["p999_s"] = spread.p999_s;
    record["most_s"] = spread.most_s;
    record["counts_by_log2_us"] = spread.counts;
}

}  // namespace hakobi::bench
