#pragma once

#include <cstddef>
#include <span>

namespace hakobi::filter {

/// Rounds each value to the nearest that has no more than `significant_bits` explicit bits of mantissa, the
/// larger of two: a value x becomes one within |x| 2^-(significant_bits + 1). The bits behind are zero, which
/// packs well. Infinities, NaNs, values that would become infinite, and those that equal `kept` stay as they
/// are. netCDF's BitRound, from R. Kouznetsov, A note on precision-preserving compression of scientific data,
/// Geosci. Model Dev. 14, 2021, section 3. Pure.
void round_bits(std::span<double> values, int significant_bits, const double* kept = nullptr);
void round_bits(std::span<float> values, int significant_bits, const float* kept = nullptr);

inline constexpr int bits_of_double = 52, bits_of_float = 23;

}  // namespace hakobi::filter
