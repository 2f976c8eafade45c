#include "diagnostics/accumulator.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <string_view>

#include "format/attributes.hpp"

namespace hakobi::diagnostics {
namespace {

using Kind = CellMethod::Kind;

constexpr double none = std::numeric_limits<double>::quiet_NaN();
/// Elements at a time. Arrays of one size lie alike in their pages: the further one is walked before the
/// next, the more of their lines want the same place of the first cache (1.1 times what moves the memory, and
/// 2 with 1024).
constexpr std::int64_t most_in_chunk = 128;

template <class T>
void convert(const std::byte* values, std::int64_t stride_bytes, std::int64_t num, double* converted) {
    for (std::int64_t i = 0; i < num; ++i) {
        T value;
        std::memcpy(&value, values + i * stride_bytes, sizeof value);
        converted[i] = static_cast<double>(value);
    }
}

void convert(ValueType type, const std::byte* values, std::int64_t stride_bytes, std::int64_t num,
             double* converted) {
    switch (type) {
        case ValueType::float64:
            return stride_bytes == sizeof(double)
                       ? void(std::memcpy(converted, values, static_cast<std::size_t>(num) * sizeof(double)))
                       : convert<double>(values, stride_bytes, num, converted);
        case ValueType::float32:
            return convert<float>(values, stride_bytes, num, converted);
        case ValueType::int32:
            return convert<std::int32_t>(values, stride_bytes, num, converted);
        case ValueType::int8:
            return convert<std::int8_t>(values, stride_bytes, num, converted);
        case ValueType::uint8:
            return convert<std::uint8_t>(values, stride_bytes, num, converted);
        case ValueType::int16:
            return convert<std::int16_t>(values, stride_bytes, num, converted);
        case ValueType::uint16:
            return convert<std::uint16_t>(values, stride_bytes, num, converted);
        case ValueType::uint32:
            return convert<std::uint32_t>(values, stride_bytes, num, converted);
        case ValueType::int64:
        case ValueType::uint64:
            break;
    }
    assert(false && "64-bit integers do not fit in double");
}

/// sum + rest += addend, without an error while no exponent overflows.
inline void add_to(double& sum, double& rest, double addend) {
    const double total = sum + addend, of_addend = total - sum;
    rest += (sum - (total - of_addend)) + (addend - of_addend);
    sum = total;
}

// Loops that compilers make vectors of, wider ones where the processor has them: with the same bits.
#ifdef HAKOBI_CLONES
#define HAKOBI_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define HAKOBI_WIDE
#endif

HAKOBI_WIDE void add_all(double* __restrict sums, double* __restrict rests, const double* __restrict values,
                         std::int64_t num, double weight) {
    if (weight == 1) {
        for (std::int64_t i = 0; i < num; ++i) add_to(sums[i], rests[i], values[i]);
    } else {
        for (std::int64_t i = 0; i < num; ++i) add_to(sums[i], rests[i], weight * values[i]);
    }
}

/// The same where each value has its weight, 0 where it is missing. `is_weighted`: else the sum is of values.
HAKOBI_WIDE void add_present(double* __restrict sums, double* __restrict rests,
                             const double* __restrict values, const double* __restrict weights,
                             std::int64_t num, bool is_weighted) {
    for (std::int64_t i = 0; i < num; ++i) {
        const double value = is_weighted ? weights[i] * values[i] : values[i];
        add_to(sums[i], rests[i], weights[i] == 0 ? 0 : value);
    }
}

// NaN stands for what is not there yet, and for what is missing.
HAKOBI_WIDE void keep_least(double* __restrict least, const double* __restrict values, std::int64_t num) {
    for (std::int64_t i = 0; i < num; ++i)
        least[i] = (values[i] < least[i]) | (least[i] != least[i]) ? values[i] : least[i];
}
HAKOBI_WIDE void keep_greatest(double* __restrict greatest, const double* __restrict values,
                               std::int64_t num) {
    for (std::int64_t i = 0; i < num; ++i)
        greatest[i] = (values[i] > greatest[i]) | (greatest[i] != greatest[i]) ? values[i] : greatest[i];
}

HAKOBI_WIDE std::int64_t num_nans(const double* values, std::int64_t num) {
    std::int64_t found = 0;
    for (std::int64_t i = 0; i < num; ++i) found += static_cast<std::int64_t>(values[i] != values[i]);
    return found;
}

/// (sum + rest) / weight, rounded once but for the last bit.
double quotient(double sum, double rest, double weight) {
    if (!std::isfinite(sum)) return sum;
    const double high = sum + rest, low = rest - (high - sum);
    const double first = high / weight;
    return first + (std::fma(-first, weight, high) + low) / weight;
}

}  // namespace

/// Elements that lie in the cache: their values, NaN where one is missing, and what they weigh.
struct Accumulator::Chunk {
    std::int64_t first = 0, num = 0;
    double weight = 0;
    const double* values = nullptr;
    const double* weights = nullptr;  ///< null: all have `weight`; else 0 where a value is missing

    [[nodiscard]] double weight_of(std::int64_t i) const { return weights == nullptr ? weight : weights[i]; }
};

Accumulator::Accumulator(std::span<const CellMethod> methods, const std::optional<FillValue>& missing) {
    if (missing) missing_ = format::number_of(*missing);
    for (const CellMethod& method : methods) {
        switch (method.kind) {
            case Kind::point:
                break;
            case Kind::mean:
                add_part(Role::weighted_sum);
                break;
            case Kind::sum:
                add_part(Role::sum);
                break;
            case Kind::minimum:
                add_part(Role::least);
                break;
            case Kind::maximum:
                add_part(Role::greatest);
                break;
            case Kind::range:
                add_part(Role::least);
                add_part(Role::greatest);
                break;
            case Kind::variance:
            case Kind::standard_deviation:
                add_part(Role::mean);
                break;
            case Kind::count:
                add_part(Role::above, method.above);
                break;
        }
    }
}

std::size_t Accumulator::index_of(Role role, double above) const {
    const auto found = std::ranges::find_if(
        parts_, [&](const Part& part) { return part.role == role && part.above == above; });
    return static_cast<std::size_t>(found - parts_.begin());
}

void Accumulator::add_part(Role role, double above) {
    if (index_of(role, above) < parts_.size()) return;
    parts_.push_back({.role = role, .above = above, .values = {}});
    if (role == Role::weighted_sum || role == Role::sum) parts_.push_back({.role = Role::rest, .values = {}});
    if (role == Role::mean) parts_.push_back({.role = Role::squares, .values = {}});
}

void Accumulator::begin(std::int64_t num_elements) {
    num_elements_ = num_elements;
    for (Part& part : parts_) {
        const bool is_extreme = part.role == Role::least || part.role == Role::greatest;
        part.values.assign(static_cast<std::size_t>(num_elements), is_extreme ? none : 0);
    }
    weights_.values.clear();
    weight_ = 0;
}

void Accumulator::keep_weights() {
    if (weights_.values.empty()) weights_.values.assign(static_cast<std::size_t>(num_elements_), weight_);
}

std::int64_t Accumulator::memory_bytes() const {
    std::int64_t num = std::ssize(weights_.values);
    for (const Part& part : parts_) num += std::ssize(part.values);
    return num * static_cast<std::int64_t>(sizeof(double));
}

std::int64_t Accumulator::mark_missing(std::span<double> values) const {
    if (missing_ && !std::isnan(*missing_))
        for (double& value : values) value = value == *missing_ ? none : value;
    return num_nans(values.data(), std::ssize(values));
}

void Accumulator::add(ValueType type, const std::byte* values, std::int64_t stride_bytes, std::int64_t num,
                      std::int64_t first, double weight) {
    assert(first >= 0 && first + num <= num_elements_);
    double converted[most_in_chunk], weights[most_in_chunk];
    for (std::int64_t begin = 0; begin < num; begin += most_in_chunk) {
        const std::int64_t count = std::min(most_in_chunk, num - begin);
        const std::byte* const from = values + begin * stride_bytes;
        const bool is_there = type == ValueType::float64 && stride_bytes == sizeof(double) &&
                              (!missing_ || std::isnan(*missing_));
        const double* doubles = converted;
        std::int64_t num_missing = 0;
        if (is_there) {
            doubles = reinterpret_cast<const double*>(from);
            num_missing = num_nans(doubles, count);
        } else {
            convert(type, from, stride_bytes, count, converted);
            num_missing = mark_missing({converted, static_cast<std::size_t>(count)});
        }
        num_missing_ += num_missing;
        if (num_missing > 0 && !has_weights()) {
            keep_weights();
            std::fill_n(weights_.values.begin(), first + begin,
                        weight_ + weight);  // this put's, before these
        }
        Chunk chunk{.first = first + begin, .num = count, .weight = weight, .values = doubles};
        if (has_weights()) {
            std::fill_n(weights, count, weight);
            if (num_missing > 0)
                for (std::int64_t i = 0; i < count; ++i) weights[i] = std::isnan(doubles[i]) ? 0 : weight;
            chunk.weights = weights;
        }
        add_chunk(chunk);
    }
}

void Accumulator::add_chunk(const Chunk& chunk) {
    const std::int64_t num = chunk.num;
    const double* const values = chunk.values;
    double* const own_weights = has_weights() ? weights_.values.data() + chunk.first : nullptr;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
        double* const part = parts_[p].values.data() + chunk.first;
        const auto next = [&] { return parts_[p + 1].values.data() + chunk.first; };
        const Role role = parts_[p].role;
        if (role == Role::least) keep_least(part, values, num);
        if (role == Role::greatest) keep_greatest(part, values, num);
        if (chunk.weight == 0) continue;  // it stands for no time
        if (role == Role::weighted_sum || role == Role::sum) {
            const bool is_weighted = role == Role::weighted_sum;
            if (chunk.weights != nullptr)
                add_present(part, next(), values, chunk.weights, num, is_weighted);
            else
                add_all(part, next(), values, num, is_weighted ? chunk.weight : 1);
        } else if (role == Role::above) {
            const double above = parts_[p].above;
            for (std::int64_t i = 0; i < num; ++i) part[i] += values[i] > above ? 1.0 : 0.0;
        } else if (role == Role::mean) {
            double* const squares = next();
            for (std::int64_t i = 0; i < num; ++i) {
                const double weight = chunk.weight_of(i);
                const double before = own_weights == nullptr ? weight_ : own_weights[i];
                const double delta = weight == 0 ? 0 : values[i] - part[i];
                part[i] += weight == 0 ? 0 : weight / (before + weight) * delta;
                squares[i] += weight == 0 ? 0 : weight * delta * (values[i] - part[i]);
            }
        }
    }
    if (own_weights != nullptr)
        for (std::int64_t i = 0; i < num; ++i) own_weights[i] += chunk.weights[i];
}

void Accumulator::write(const CellMethod& method, double fill, std::span<double> results) const {
    assert(std::ssize(results) == num_elements_ && !method.is_point());
    // `value_of(i, weight)`; without weight there was no value but of no time.
    const auto each = [&](auto value_of) {
        for (std::size_t i = 0; i < results.size(); ++i) {
            const double weight = has_weights() ? weights_.values[i] : weight_;
            results[i] = weight > 0 ? value_of(i, weight) : fill;
        }
    };
    const auto each_extreme = [&](std::span<const double> extremes, auto value_of) {
        for (std::size_t i = 0; i < results.size(); ++i)
            results[i] = std::isnan(extremes[i]) ? fill : value_of(i);
    };
    switch (method.kind) {
        case Kind::point:
            break;
        case Kind::mean: {
            const auto sums = values_of(Role::weighted_sum), rests = values_behind(Role::weighted_sum);
            return each([&](std::size_t i, double weight) { return quotient(sums[i], rests[i], weight); });
        }
        case Kind::sum: {
            const auto sums = values_of(Role::sum), rests = values_behind(Role::sum);
            return each(
                [&](std::size_t i, double) { return std::isfinite(sums[i]) ? sums[i] + rests[i] : sums[i]; });
        }
        case Kind::minimum:
        case Kind::maximum: {
            const auto values = values_of(method.kind == Kind::minimum ? Role::least : Role::greatest);
            return each_extreme(values, [&](std::size_t i) { return values[i]; });
        }
        case Kind::range: {
            const auto least = values_of(Role::least), greatest = values_of(Role::greatest);
            return each_extreme(least, [&](std::size_t i) { return greatest[i] - least[i]; });
        }
        case Kind::variance:
        case Kind::standard_deviation: {
            const auto squares = values_behind(Role::mean);
            const bool is_root = method.kind == Kind::standard_deviation;
            return each([&](std::size_t i, double weight) {
                const double variance = squares[i] / weight;
                return is_root ? std::sqrt(variance) : variance;
            });
        }
        case Kind::count: {
            const auto counts = values_of(Role::above, method.above);
            return each([&](std::size_t i, double) { return counts[i]; });
        }
    }
}

std::string name_of(const Accumulator::Part& part) {
    constexpr std::array<std::string_view, 9> names = {
        "weighted_sum", "sum", "rest", "least", "greatest", "mean", "squares", "above", "weight"};
    return std::string(names[static_cast<std::size_t>(part.role)]);
}

}  // namespace hakobi::diagnostics
