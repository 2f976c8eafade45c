#include "measure/repetition.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/clock.hpp"

namespace hakobi::measure {
namespace {

constexpr std::size_t group = 3;  // samples whose medians are compared during warm-up

/// One sample of each contender into `series`, forwards in even rounds and backwards in odd ones.
void run_round(std::span<const Contender> contenders, int round, std::vector<std::vector<double>>& series) {
    for (std::size_t turn = 0; turn < contenders.size(); ++turn) {
        const std::size_t i = round % 2 == 0 ? turn : contenders.size() - 1 - turn;
        series[i].push_back(contenders[i].sample());
    }
}

bool is_narrow(const std::vector<double>& samples, const RepetitionRule& rule) {
    if (static_cast<int>(samples.size()) < samples_needed(rule.confidence)) return false;
    return summarize(samples, rule.confidence).relative_width() <= rule.relative_width;
}

}  // namespace

bool is_stationary(std::span<const double> samples, double relative_width) {
    if (samples.size() < 2 * group) return false;
    const auto earlier = samples.last(2 * group).first(group);
    const auto later = samples.last(group);
    const double before = median(earlier);
    if (std::abs(median(later) - before) <= relative_width * std::abs(before)) return true;
    const auto [earlier_low, earlier_high] = std::minmax_element(earlier.begin(), earlier.end());
    const auto [later_low, later_high] = std::minmax_element(later.begin(), later.end());
    return *later_low <= *earlier_high && *earlier_low <= *later_high;
}

std::vector<Measurement> measure_interleaved(std::span<const Contender> contenders,
                                             const RepetitionRule& rule, const Agreement& agreement) {
    assert(!contenders.empty() && rule.min_samples > 0 && rule.max_samples >= rule.min_samples);
    const auto agreed = [&](bool more) { return agreement ? agreement(more) : more; };
    const double start_s = now_s();
    int round = 0;

    std::vector<std::vector<double>> warmup(contenders.size());
    bool all_stationary = false;
    bool more = true;
    while (more) {
        run_round(contenders, round++, warmup);
        all_stationary = std::all_of(warmup.begin(), warmup.end(), [&](const auto& samples) {
            return is_stationary(samples, rule.relative_width);
        });
        more = agreed(!all_stationary && now_s() - start_s < rule.warmup_share * rule.budget_s);
    }

    std::vector<std::vector<double>> series(contenders.size());
    more = true;
    while (more) {
        run_round(contenders, round++, series);
        const int taken = static_cast<int>(series.front().size());
        // The interval is looked at only now and then: it costs a sort, and looking after every sample would
        // favour the moments at which it is narrow by chance.
        const bool look = taken < 40 ? taken % 5 == 0 : taken % 20 == 0;
        const bool narrow = look && std::all_of(series.begin(), series.end(), [&](const auto& samples) {
                                return is_narrow(samples, rule);
                            });
        const bool may_go_on = taken < rule.max_samples && now_s() - start_s < rule.budget_s;
        more = agreed(taken < rule.min_samples || (may_go_on && !narrow));
    }

    std::vector<Measurement> measurements(contenders.size());
    for (std::size_t i = 0; i < contenders.size(); ++i) {
        Measurement& measurement = measurements[i];
        measurement.name = contenders[i].name;
        measurement.samples = std::move(series[i]);
        measurement.summary = summarize(measurement.samples, rule.confidence);
        measurement.num_warmup = static_cast<int>(warmup[i].size());
        measurement.is_stationary = all_stationary;
        measurement.wide = !is_narrow(measurement.samples, rule);
    }
    return measurements;
}

}  // namespace hakobi::measure
