#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hakobi::overview {

struct Scaling {
    double offset = 0, scale = 1;
};

/// Offset and scale that bring values like the sample's to about -1 … 1, by the rule of
/// python/hakobi/post/reduction.py.
[[nodiscard]] Scaling scaling_of(std::vector<double> sample);

/// The scale, or the larger one with which halves hold the finite ones of a field's extremes too.
[[nodiscard]] double widened(const Scaling& scaling, const std::vector<double>& low,
                             const std::vector<double>& high);

/// Returns a field's statistics (python/hakobi/post/reduction.py, statistics_of) as JSON: extremes, mean and
/// the count of NaN of every value, the rest of the sample. `low` and `high` are one a brick, NaN where it
/// has no value.
[[nodiscard]] std::string statistics_of(std::int64_t num_values, const std::vector<double>& low,
                                        const std::vector<double>& high, double sum, std::int64_t num_nan,
                                        std::vector<double> sample);

/// As JSON: a finite number as Python writes it, a text with everything beyond ASCII escaped.
[[nodiscard]] std::string json(double value);
[[nodiscard]] std::string json(const std::string& text);
template <class Numbers>
[[nodiscard]] std::string json_list(const Numbers& numbers) {
    std::string text = "[";
    for (const auto& number : numbers) text.append(text.size() > 1 ? "," : "").append(std::to_string(number));
    return text + "]";
}

}  // namespace hakobi::overview
