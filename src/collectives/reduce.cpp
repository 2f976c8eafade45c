#include "collectives/reduce.hpp"

#include <algorithm>
#include <cassert>
#include <complex>
#include <cstring>

namespace hakobi {

std::int64_t v0::size_of(ElementType type) noexcept {
    switch (type) {
        case ElementType::complex128:
            return 16;
        case ElementType::float64:
        case ElementType::int64:
        case ElementType::complex64:
            return 8;
        case ElementType::float32:
        case ElementType::int32:
            return 4;
    }
    return 0;
}

namespace collectives {
namespace {

/// Elements that are summed at a time, so that the result stays in the first cache while the operands pass
/// by.
constexpr std::int64_t most_at_a_time = 512;

struct Plus {
    template <class T>
    T operator()(T a, T b) const {
        return a + b;
    }
};
struct Times {
    template <class T>
    T operator()(T a, T b) const {
        return a * b;
    }
};
struct Lower {
    template <class T>
    T operator()(T a, T b) const {
        return b < a ? b : a;
    }
};
struct Higher {
    template <class T>
    T operator()(T a, T b) const {
        return a < b ? b : a;
    }
};

template <class T, class Op>
void reduce_elements(std::byte* to, std::span<const std::byte* const> operands, std::int64_t count, Op op) {
    T result[most_at_a_time], operand[most_at_a_time];
    for (std::int64_t begin = 0; begin < count; begin += most_at_a_time) {
        const auto num = static_cast<std::size_t>(std::min(most_at_a_time, count - begin));
        const std::size_t offset = static_cast<std::size_t>(begin) * sizeof(T);
        std::memcpy(static_cast<void*>(result), operands[0] + offset, num * sizeof(T));
        for (const std::byte* next : operands.subspan(1)) {
            std::memcpy(static_cast<void*>(operand), next + offset, num * sizeof(T));
            for (std::size_t i = 0; i < num; ++i) result[i] = op(result[i], operand[i]);
        }
        std::memcpy(to + offset, static_cast<const void*>(result), num * sizeof(T));
    }
}

template <class T>
void reduce_ordered(Reduction reduction, std::byte* to, std::span<const std::byte* const> operands,
                    std::int64_t count) {
    switch (reduction) {
        case Reduction::sum:
            return reduce_elements<T>(to, operands, count, Plus{});
        case Reduction::product:
            return reduce_elements<T>(to, operands, count, Times{});
        case Reduction::minimum:
            return reduce_elements<T>(to, operands, count, Lower{});
        case Reduction::maximum:
            return reduce_elements<T>(to, operands, count, Higher{});
    }
}

/// Sums and products of integers wrap, and do so by definition where they are unsigned.
template <class T, class Unsigned>
void reduce_integers(Reduction reduction, std::byte* to, std::span<const std::byte* const> operands,
                     std::int64_t count) {
    if (reduction == Reduction::sum) return reduce_elements<Unsigned>(to, operands, count, Plus{});
    if (reduction == Reduction::product) return reduce_elements<Unsigned>(to, operands, count, Times{});
    reduce_ordered<T>(reduction, to, operands, count);
}

template <class T>
void reduce_complex(Reduction reduction, std::byte* to, std::span<const std::byte* const> operands,
                    std::int64_t count) {
    if (reduction == Reduction::sum) return reduce_elements<T>(to, operands, count, Plus{});
    reduce_elements<T>(to, operands, count, Times{});
}

}  // namespace

bool is_defined(ElementType type, Reduction reduction) noexcept {
    const bool is_complex = type == ElementType::complex128 || type == ElementType::complex64;
    const bool is_known = reduction == Reduction::sum || reduction == Reduction::product ||
                          reduction == Reduction::minimum || reduction == Reduction::maximum;
    return size_of(type) > 0 && is_known &&
           (!is_complex || reduction == Reduction::sum || reduction == Reduction::product);
}

void reduce(ElementType type, Reduction reduction, std::byte* to, std::span<const std::byte* const> operands,
            std::int64_t bytes) {
    assert(is_defined(type, reduction) && !operands.empty() && bytes % size_of(type) == 0);
    const std::int64_t count = bytes / size_of(type);
    switch (type) {
        case ElementType::float64:
            return reduce_ordered<double>(reduction, to, operands, count);
        case ElementType::float32:
            return reduce_ordered<float>(reduction, to, operands, count);
        case ElementType::int32:
            return reduce_integers<std::int32_t, std::uint32_t>(reduction, to, operands, count);
        case ElementType::int64:
            return reduce_integers<std::int64_t, std::uint64_t>(reduction, to, operands, count);
        case ElementType::complex128:
            return reduce_complex<std::complex<double>>(reduction, to, operands, count);
        case ElementType::complex64:
            return reduce_complex<std::complex<float>>(reduction, to, operands, count);
    }
}

}  // namespace collectives
}  // namespace hakobi
