#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace hakobi::overview {

inline constexpr std::size_t max_dims = 3;
/// The size of the crc32c behind each brick.
inline constexpr std::int64_t checksum_bytes = 4;

/// Start and stop a direction.
using Box = std::array<std::array<std::int64_t, 2>, max_dims>;
using Extents = std::array<std::int64_t, max_dims>;

enum class CellType : std::uint8_t { float64, float32, half };

/// A field or a level of one, in a file or in memory. Two dimensions are three with a first one of 1.
struct Source {
    CellType type = CellType::float32;
    Extents shape{};
    /// Values of the unit's box in C order; null: they are in the file.
    const void* values = nullptr;
    int fd = -1;
    std::int64_t offset_bytes = 0;
    /// half: the values lie in bricks of this shape, each with its checksum.
    Extents brick{};
    /// Values of the field that stand for none, at most two; NaN: nothing.
    std::array<double, 2> fills{std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::quiet_NaN()};
};

/// The part that one call reduces: the bricks of a level that `box` of the source makes; in the unit-stride
/// direction all of it.
struct Unit {
    Box box{};
    Extents brick{};  ///< of the level that is made
    bool is_flat = false;
    double offset = 0, scale = 1;
    std::int64_t sample_stride = 0;  ///< one of so many values is kept; 0: none, nor extremes nor sum
};

/// Statistics of a unit's own values; only where it has a sample_stride.
struct Found {
    std::vector<std::byte> bricks;  ///< as they lie in the file
    std::vector<double> low, high;  ///< one a brick; NaN where no cell has a value
    double sum = 0;                 ///< without NaN
    std::int64_t num_nan = 0;
    std::vector<double> sample;
};

/// Means over two cells a direction, as halves of (mean - offset) / scale, brick by brick. NaN cells are
/// passed over: a mean is NaN where all of its cells are, and bricks are filled up with NaN. Sums are taken
/// in the source's type, plane, row and column in this order; where that is not finite, in double. The last
/// cell of an odd extent counts twice. format where the file ends before the values do, io.
Result<Found> reduce(const Source& source, const Unit& unit);

}  // namespace hakobi::overview
