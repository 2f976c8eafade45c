#include "sums.hpp"

#include <limits>

namespace hakobi::lattice {
namespace {

constexpr double step = 0x1p-26;  // from one unit to the next smaller
constexpr int max_upwards = 100, max_downwards = 3;
constexpr double least = 0x1p-800, most = 0x1p800;  // leave room for the units and for 2^26 values

}  // namespace

ScalarSums::ScalarSums(const Comm& comm) {
    const CollectivesOptions options;
    collectives_ = Collectives::create(comm, options);
}

void ScalarSums::add_up(std::span<double> values) {
    CollectivePlan& plan = plans_[values.size()];
    if (!plan) {
        plan = collectives_.allreduce(ElementType::float64, Reduction::sum,
                                      static_cast<std::int64_t>(values.size()));
    }
    plan.execute(values.data(), values.data());
}

SiteSum::SiteSum(double scale) : scale_(scale) {
    double unit = scale * step;
    for (double& round : round_) {
        round = 1.5 * 0x1p52 * unit;  // adding it rounds a value below 2^51 units to a whole number of them
        unit *= step;
    }
}

std::array<double, SiteSum::num_words> SiteSum::words() const {
    std::array<double, num_words> words;
    std::ranges::copy(sums_, words.begin());
    words.back() = largest_ <= scale_ ? 0 : 1;
    return words;
}

namespace sums {

double power_of_two_above(double value) {
    if (!(value > least)) value = least;
    if (!(value < most)) value = most;
    return std::exp2(std::ceil(std::log2(value)));
}

Judged judge(std::span<const double> words, double scale, std::span<double> totals, Attempts& attempts) {
    double largest = 0;
    bool is_too_large = false;
    for (std::size_t i = 0; i < totals.size(); ++i) {
        const auto* word = &words[i * SiteSum::num_words];
        totals[i] = word[0] + word[1] + word[2];
        is_too_large = is_too_large || word[SiteSum::num_units] != 0;
        largest = std::max(largest, std::abs(totals[i]));
    }
    if (is_too_large) {
        if (scale >= most || ++attempts.upwards > max_upwards) {
            std::ranges::fill(totals, std::numeric_limits<double>::quiet_NaN());
            return {};
        }
        return {.next_scale = power_of_two_above(scale * 0x1p20)};
    }
    // The last unit is 2^-78 of the scale: below 2^-24 of it a total would lack digits, unless terms cancel.
    const bool is_exact_enough = largest >= scale * 0x1p-24 || scale <= least;
    if (is_exact_enough || attempts.upwards > 0 || ++attempts.downwards > max_downwards) return {};
    return {.next_scale = power_of_two_above(largest > 0 ? largest * 4 : scale * 0x1p-60)};
}

}  // namespace sums
}  // namespace hakobi::lattice
