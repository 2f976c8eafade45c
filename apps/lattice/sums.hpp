#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <functional>
#include <hakobi/collectives.hpp>
#include <hakobi/comm.hpp>
#include <map>
#include <span>

namespace hakobi::lattice {

/// Adds each value over all ranks, on all ranks: the only way by which the program's scalars travel.
/// Collective.
using AddUp = std::function<void(std::span<double>)>;

/// The same by hakobi::Collectives, planned when a number of values comes for the first time.
class ScalarSums {
  public:
    /// Collective over `comm`.
    explicit ScalarSums(const Comm& comm);
    void add_up(std::span<double> values);
    /// As a function; this is lent.
    [[nodiscard]] AddUp function() {
        return [this](std::span<double> values) { add_up(values); };
    }
    /// Collective, in the place of a destructor, which must not communicate.
    void free() { collectives_.free(); }

  private:
    Collectives collectives_;
    std::map<std::size_t, CollectivePlan> plans_;  // a handful in a run
};

/// A sum over sites that does not depend on their order nor on how they are spread over ranks. Every value is
/// cut into whole multiples of three units, each 2^26 times smaller than the one before (J. Demmel, H. D.
/// Nguyen, Parallel reproducible summation, IEEE Transactions on Computers 64 (2015), 2060: their bins, fixed
/// beforehand); sums of up to 2^26 such multiples are exact in a double, whatever their order. Parts smaller
/// than the last unit are lost.
class SiteSum {
  public:
    /// `scale`: a power of two; values larger than it are found out (`fits`), so are sums far below it.
    explicit SiteSum(double scale);
    void add(double value) {
        largest_ = std::abs(value) <= largest_ ? largest_ : std::abs(value);  // a NaN stays
        for (std::size_t i = 0; i < num_units; ++i) {
            const double multiple = (value + round_[i]) - round_[i];
            sums_[i] += multiple;
            value -= multiple;
        }
    }

    static constexpr std::size_t num_units = 3;
    static constexpr std::size_t num_words = num_units + 1;
    /// The words to be added up over the ranks: the sums, and how many ranks had a value that is too large.
    [[nodiscard]] std::array<double, num_words> words() const;

  private:
    double scale_;
    std::array<double, num_units> round_, sums_{};
    double largest_ = 0;
};

/// The sums over all ranks' sites of `num_values` per-site quantities: `add(sums)` goes through this rank's
/// sites and adds to each of them. `scale` is where the totals are expected (any positive number); `add` is
/// called again with another one when that was far off. Equal totals on all ranks, for every decomposition.
/// Collective. A total that is not finite is NaN.
template <std::size_t num_values, class Add>
std::array<double, num_values> sum_over_sites(const AddUp& add_up, double scale, const Add& add);

namespace sums {
/// The totals of the words after add_up, or the scale with which to try again (0: done).
struct Judged {
    double next_scale = 0;
};
[[nodiscard]] double power_of_two_above(double value);
/// `attempts`: how often the scale went down and up so far; it goes up at most so often, and never down after
/// that.
struct Attempts {
    int downwards = 0, upwards = 0;
};
[[nodiscard]] Judged judge(std::span<const double> words, double scale, std::span<double> totals,
                           Attempts& attempts);
}  // namespace sums

template <std::size_t num_values, class Add>
std::array<double, num_values> sum_over_sites(const AddUp& add_up, double scale, const Add& add) {
    std::array<double, num_values> totals{};
    scale = sums::power_of_two_above(scale);
    for (sums::Attempts attempts; scale != 0;) {
        const SiteSum empty(scale);
        std::array<SiteSum, num_values> sums = [&]<std::size_t... i>(std::index_sequence<i...>) {
            return std::array<SiteSum, num_values>{((void)i, empty)...};
        }
        (std::make_index_sequence<num_values>());
        add(sums);
        std::array<double, num_values * SiteSum::num_words> words;
        for (std::size_t i = 0; i < num_values; ++i) {
            std::ranges::copy(sums[i].words(), words.begin() + i * SiteSum::num_words);
        }
        add_up(words);
        scale = sums::judge(words, scale, totals, attempts).next_scale;
    }
    return totals;
}

}  // namespace hakobi::lattice
