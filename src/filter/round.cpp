#include "filter/round.hpp"

#include <bit>
#include <cstdint>

namespace hakobi::filter {
namespace {

template <class Bits, class Value>
void round_to(std::span<Value> values, int dropped, Bits exponent, const Value* kept) {
    if (dropped <= 0) return;
    const Bits mask = ~Bits{0} << dropped, half = Bits{1} << (dropped - 1);
    const Bits kept_bits = kept != nullptr ? std::bit_cast<Bits>(*kept) : exponent;
    for (Value& value : values) {
        const Bits bits = std::bit_cast<Bits>(value);
        const Bits rounded = (bits + half) & mask;
        // Also false for infinities and NaNs, whose exponent is all ones before.
        const bool is_rounded =
            (bits & exponent) != exponent && (rounded & exponent) != exponent && bits != kept_bits;
        value = std::bit_cast<Value>(is_rounded ? rounded : bits);
    }
}

}  // namespace

void round_bits(std::span<double> values, int significant_bits, const double* kept) {
    round_to<std::uint64_t>(values, bits_of_double - significant_bits, 0x7ff0'0000'0000'0000, kept);
}

void round_bits(std::span<float> values, int significant_bits, const float* kept) {
    round_to<std::uint32_t>(values, bits_of_float - significant_bits, 0x7f80'0000, kept);
}

}  // namespace hakobi::filter
