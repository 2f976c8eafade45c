// Random whole numbers for tests: the same on every machine for a seed of the generator.
#pragma once

#include <cstdint>
#include <random>

namespace hakobi {

using Random = std::mt19937_64;

/// One of lo to hi, both included.
inline std::int64_t draw(Random& random, std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
}

}  // namespace hakobi
