#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "su3.hpp"

namespace hakobi::lattice {

/// Random numbers that belong to a place, not to a rank: Philox4x32-10 (J. Salmon, M. Moraes, R. Dror, D.
/// Shaw, Parallel random numbers: as easy as 1, 2, 3, SC'11) with the seed as key and (draw, epoch, place) as
/// counter. The same configuration comes out on any decomposition.
class PlaceRandom {
  public:
    PlaceRandom(std::uint64_t seed, std::uint32_t epoch, std::uint64_t place)
        : key_{low(seed), high(seed)}, counter_{0, epoch, low(place), high(place)} {}

    /// Between 0 and 1, neither of them.
    [[nodiscard]] double uniform() {
        if (num_left_ == 0) refill();
        const std::uint64_t a = words_[static_cast<std::size_t>(--num_left_)];
        const std::uint64_t b = words_[static_cast<std::size_t>(--num_left_)];
        return (static_cast<double>((a << 20) ^ (b >> 12)) + 0.5) * 0x1p-52;  // exact: 52 bits and a half
    }
    /// Two independent normal deviates of variance 1 (Box and Muller) as one complex number.
    [[nodiscard]] Complex normal_pair() {
        const double radius = std::sqrt(-2 * std::log(uniform()));
        const double angle = 2 * std::numbers::pi * uniform();
        return {radius * std::cos(angle), radius * std::sin(angle)};
    }
    /// Evenly distributed over SU(3).
    [[nodiscard]] Su3 su3() {
        Su3 m;
        for (std::size_t i = 0; i < 6; ++i) m.entries[i] = normal_pair();
        reunitarize(m);
        return m;
    }

    /// The generator itself: ten rounds over a counter. Pure.
    [[nodiscard]] static std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter,
                                                             std::array<std::uint32_t, 2> key) {
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t p = std::uint64_t{0xD2511F53} * counter[0];
            const std::uint64_t q = std::uint64_t{0xCD9E8D57} * counter[2];
            counter = {high(q) ^ counter[1] ^ key[0], low(q), high(p) ^ counter[3] ^ key[1], low(p)};
            key[0] += 0x9E3779B9;
            key[1] += 0xBB67AE85;
        }
        return counter;
    }

  private:
    static constexpr std::uint32_t low(std::uint64_t v) { return static_cast<std::uint32_t>(v); }
    static constexpr std::uint32_t high(std::uint64_t v) { return static_cast<std::uint32_t>(v >> 32); }
    void refill() {
        words_ = philox(counter_, key_);
        ++counter_[0];
        num_left_ = 4;
    }

    std::array<std::uint32_t, 2> key_;
    std::array<std::uint32_t, 4> counter_, words_{};
    int num_left_ = 0;
};

}  // namespace hakobi::lattice
