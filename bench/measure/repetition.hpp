#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "measure/statistics.hpp"

// The one repetition rule of the project:
//  1. Contenders take turns, A B then B A, so that drift and order fall on all alike.
//  2. Rounds are warm-up until every contender is stationary: the medians of its last two groups of three
//     samples differ by no more than the asked width, or the groups' ranges overlap. Warm-up ends at its
//     share of the budget.
//  3. Then samples are taken until each contender's interval of the median is as narrow as asked, or the
//     budget or the largest number of samples is reached; what is still too wide is marked, not hidden.
//  4. No sample is dropped.

namespace hakobi::measure {

struct RepetitionRule {
    double relative_width = 0.05;  ///< asked: (ci_high - ci_low) / median
    double confidence = 0.95;      ///< of that interval
    double budget_s = 5.0;  ///< for all contenders together, warm-up included; min_samples are taken even so
    double warmup_share = 0.25;  ///< of the budget, at most
    int min_samples = 10;
    int max_samples = 10000;
};

/// One contender's result; times in seconds or whatever its `sample` returns.
struct Measurement {
    std::string name;
    std::vector<double> samples;  ///< in the order taken: sample i of all contenders is round i
    Summary summary;
    int num_warmup = 0;
    bool is_stationary = true;  ///< false: warm-up's share of the budget ended first
    bool wide = false;          ///< the interval is wider than asked
};

struct Contender {
    std::string name;
    std::function<double()> sample;  ///< one sample; called in every round on every rank, may throw
};

/// Makes a decision of one rank that of all ranks: given "I want another round", returns what rank 0 said.
/// Collective where it is given; empty for a single process.
using Agreement = std::function<bool(bool)>;

/// Runs the contenders by the rule above. Collective where `agreement` is: the order of calls is then the
/// same on every rank, and rank 0's samples decide. Exceptions of a sample pass through.
[[nodiscard]] std::vector<Measurement> measure_interleaved(std::span<const Contender> contenders,
                                                           const RepetitionRule& rule,
                                                           const Agreement& agreement = {});

/// Whether the last six samples say that the series no longer moves (step 2). Fewer than six: no.
[[nodiscard]] bool is_stationary(std::span<const double> samples, double relative_width);

}  // namespace hakobi::measure
