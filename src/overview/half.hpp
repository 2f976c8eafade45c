#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace hakobi::overview {

/// IEEE 754's 16-bit floating point, as its bits.
using Half = std::uint16_t;

inline constexpr Half not_a_number = 0x7e00;
/// The largest finite one: 65504.
inline constexpr Half largest = 0x7bff;

/// The nearest half, ties to even; NaN becomes `not_a_number`. A finite value that no half holds becomes the
/// largest, infinity stays. Without branches, so that compilers make vector code of it.
[[nodiscard]] inline Half half_of(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits & 0x80000000U, size = bits ^ sign;
    // Below 2^-14: adding 0.5 leaves the half's subnormal in the low bits, rounded by the processor.
    const std::uint32_t tiny =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    const std::uint32_t usual = (size - 0x38000000U + 0xfffU + ((size >> 13U) & 1U)) >> 13U;
    std::uint32_t half = size < 0x38800000U ? tiny : usual;
    half = size >= 0x477ff000U ? std::uint32_t{largest} : half;
    half = size == 0x7f800000U ? 0x7c00U : half;
    half |= sign >> 16U;
    return static_cast<Half>(size > 0x7f800000U ? std::uint32_t{not_a_number} : half);
}

/// The same, rounded once: the float between keeps in its last bit that it was not exact.
[[nodiscard]] inline Half half_of(double value) noexcept {
    const auto rounded = static_cast<float>(value);
    const auto back = static_cast<double>(rounded);
    if (std::isinf(rounded) && !std::isinf(value)) {
        return static_cast<Half>(largest | (std::signbit(value) ? 0x8000U : 0U));
    }
    if (back == value || std::isnan(value)) return half_of(rounded);
    auto bits = std::bit_cast<std::uint32_t>(rounded);
    if (std::fabs(back) > std::fabs(value)) --bits;
    return half_of(std::bit_cast<float>(bits | 1U));
}

/// Exact.
[[nodiscard]] inline float float_of(Half half) noexcept {
    const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16U;
    const std::uint32_t size = half & 0x7fffU;
    const float tiny = static_cast<float>(size) * 0x1p-24F;
    const std::uint32_t usual = (size << 13U) + (size >= 0x7c00U ? 0x70000000U : 0x38000000U);
    return std::bit_cast<float>((size < 0x400U ? std::bit_cast<std::uint32_t>(tiny) : usual) | sign);
}

}  // namespace hakobi::overview
