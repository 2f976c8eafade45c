#include "overview/statistics.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <limits>
#include <numeric>
#include <string_view>

namespace hakobi::overview {

namespace {

constexpr std::array<std::string_view, 13> percents{"0.5", "1",  "2",  "5",  "10", "25",  "50",
                                                    "75",  "90", "95", "98", "99", "99.5"};
constexpr std::size_t num_bins = 64;

/// Sorted finite values.
std::vector<double> finite(std::vector<double> values) {
    std::erase_if(values, [](double value) { return !std::isfinite(value); });
    std::ranges::sort(values);
    return values;
}

/// Linear between the two nearest of sorted values.
double percentile(const std::vector<double>& sorted, double percent) {
    const double place = percent / 100 * static_cast<double>(sorted.size() - 1);
    const double below = std::floor(place), share = place - below;
    const auto at = static_cast<std::size_t>(below);
    const double first = sorted[at], second = sorted[std::min(at + 1, sorted.size() - 1)];
    const double difference = second - first;
    if (!std::isfinite(difference)) return first * (1 - share) + second * share;
    return share >= 0.5 ? second - difference * (1 - share) : first + difference * share;
}

double deviation(const std::vector<double>& values) {
    const auto count = static_cast<double>(values.size());
    const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
    double squares = 0;
    for (const double value : values) squares += (value - mean) * (value - mean);
    return std::sqrt(squares / count);
}

std::vector<std::int64_t> histogram(const std::vector<double>& sorted) {
    const double first = sorted.front(), last = sorted.back(), width = (last - first) / double{num_bins};
    if (!std::isfinite(last - first) || width <= std::fabs(last) * 1e-15) {
        return {static_cast<std::int64_t>(sorted.size())};
    }
    std::vector<std::int64_t> counts(num_bins);
    for (const double value : sorted) {
        const auto bin = static_cast<std::size_t>((value - first) / (last - first) * double{num_bins});
        ++counts[std::min(bin, num_bins - 1)];
    }
    return counts;
}

void append(std::string& text, const std::string& name, const std::string& value) {
    text.append(text.size() > 1 ? "," : "").append(json(name)).append(":").append(value);
}

void append_finite(std::string& text, const char* name, double value) {
    if (std::isfinite(value)) append(text, name, json(value));
}

}  // namespace

Scaling scaling_of(std::vector<double> sample) {
    const std::vector<double> values = finite(std::move(sample));
    if (values.empty()) return {};
    const double low = percentile(values, 0.5), high = percentile(values, 99.5);
    const double half = high / 2 - low / 2, offset = low + half;
    if (half <= std::fabs(offset) * 0x1p-40) {  // nearly all are one value: scale by what the others are
        std::vector<double> away;
        for (const double value : values) {
            if (std::fabs(value - offset) > std::fabs(offset) * 0x1p-40)
                away.push_back(std::fabs(value - offset));
        }
        std::ranges::sort(away);
        if (away.empty()) return {offset, offset == 0 ? 1.0 : std::fabs(offset)};
        const double median = (away[(away.size() - 1) / 2] + away[away.size() / 2]) / 2;
        return {offset, std::min(median, std::numeric_limits<double>::max())};
    }
    // Zero stays exact.
    if (low <= 0 && high >= 0) return {0, std::max(std::fabs(low), std::fabs(high))};
    return {offset, half};
}

double widened(const Scaling& scaling, const std::vector<double>& low, const std::vector<double>& high) {
    constexpr double most = 65000;  // less than the largest half, which may stand for any value beyond it
    double scale = scaling.scale;
    for (const std::vector<double>* extremes : {&low, &high}) {
        for (const double value : *extremes) {
            if (std::isfinite(value))
                scale = std::max(scale, std::fabs(value / most - scaling.offset / most));
        }
    }
    return scale;
}

std::string statistics_of(std::int64_t num_values, const std::vector<double>& low,
                          const std::vector<double>& high, double sum, std::int64_t num_nan,
                          std::vector<double> sample) {
    std::string text = "{";
    append(text, "num_values", std::to_string(num_values));
    append(text, "num_nan", std::to_string(num_nan));
    if (num_nan < num_values) {
        const auto least = [](double a, double b) { return std::fmin(a, b); };
        const auto most = [](double a, double b) { return std::fmax(a, b); };
        append_finite(text, "min", std::accumulate(low.begin(), low.end(), std::nan(""), least));
        append_finite(text, "max", std::accumulate(high.begin(), high.end(), std::nan(""), most));
        append_finite(text, "mean", sum / static_cast<double>(num_values - num_nan));
    }
    const std::vector<double> values = finite(std::move(sample));
    if (!values.empty()) {
        append_finite(text, "std", deviation(values));
        std::string points = "{";
        for (const std::string_view percent : percents) {
            double number = 0;
            std::from_chars(percent.data(), percent.data() + percent.size(), number);
            append(points, std::string(percent), json(percentile(values, number)));
        }
        append(text, "percentiles", points + "}");
        append(text, "histogram",
               "{\"counts\":" + json_list(histogram(values)) + ",\"from\":" + json(values.front()) +
                   ",\"to\":" + json(values.back()) + "}");
        append(text, "num_sampled", std::to_string(values.size()));
    }
    return text + "}";
}

std::string json(double value) {
    std::array<char, 40> buffer{};
    const auto [end, error] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    const std::string_view all(buffer.data(), static_cast<std::size_t>(end - buffer.data()));
    const std::size_t mark = all.find('e');
    int exponent = 0;
    std::from_chars(all.data() + mark + (all[mark + 1] == '+' ? 2 : 1), all.data() + all.size(), exponent);
    if (exponent < -4 || exponent >= 16) return std::string(all);
    const auto [stop, failure] =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed);
    std::string fixed(buffer.data(), stop);
    return fixed.find('.') == std::string::npos ? fixed + ".0" : fixed;
}

std::string json(const std::string& text) {
    std::string result = "\"";
    const auto escape = [&](unsigned unit) {
        std::array<char, 16> buffer{};
        std::snprintf(buffer.data(), buffer.size(), "\\u%04x", unit);
        result += buffer.data();
    };
    for (std::size_t at = 0; at < text.size();) {
        const auto byte = static_cast<unsigned char>(text[at]);
        const std::size_t length = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        std::uint32_t point = length == 1 ? byte : byte & (0x7fU >> length);
        for (std::size_t k = 1; k < length && at + k < text.size(); ++k) {
            point = (point << 6U) | (static_cast<unsigned char>(text[at + k]) & 0x3fU);
        }
        at += length;
        if (point == '"' || point == '\\') {
            result += '\\';
            result += static_cast<char>(point);
        } else if (point == '\n') {
            result += "\\n";
        } else if (point == '\t') {
            result += "\\t";
        } else if (point == '\r') {
            result += "\\r";
        } else if (point >= 0x20 && point < 0x7f) {
            result += static_cast<char>(point);
        } else if (point < 0x10000) {
            escape(point);
        } else {
            escape(0xd800U + ((point - 0x10000U) >> 10U));
            escape(0xdc00U + ((point - 0x10000U) & 0x3ffU));
        }
    }
    return result + "\"";
}

}  // namespace hakobi::overview
