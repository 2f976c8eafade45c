#pragma once

#include <cstdint>
#include <optional>

namespace hakobi {

// Arithmetic on numbers that somebody else wrote: nothing where the result leaves 63 bits.

[[nodiscard]] constexpr std::optional<std::int64_t> checked_add(std::int64_t a, std::int64_t b) noexcept {
    std::int64_t sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::nullopt : std::optional(sum);
}

[[nodiscard]] constexpr std::optional<std::int64_t> checked_multiply(std::int64_t a,
                                                                     std::int64_t b) noexcept {
    std::int64_t product = 0;
    return __builtin_mul_overflow(a, b, &product) ? std::nullopt : std::optional(product);
}

}  // namespace hakobi
