#pragma once

#include <cstdint>
#include <vector>

#include "overview/reduce.hpp"

namespace hakobi::overview {

/// One level of a field, as python/hakobi/post/pyramid.py has it: means over 2^number cells a direction, in
/// bricks of 32^3 (256^2 in 2-D) in C order. Two dimensions are three with a first one of 1.
struct Level {
    int number = 0;
    Extents shape{}, brick{}, grid{};

    [[nodiscard]] std::int64_t num_bricks() const { return grid[0] * grid[1] * grid[2]; }
    [[nodiscard]] std::int64_t brick_bytes() const {
        return brick[0] * brick[1] * brick[2] * 2 + checksum_bytes;
    }
    /// Bricks and their index.
    [[nodiscard]] std::int64_t num_bytes() const {
        return num_bricks() * (brick_bytes() + 16) + checksum_bytes;
    }
};

/// The levels of a field: 4, fewer where a coarser one would be a single cell.
[[nodiscard]] std::vector<Level> levels_of(const Extents& shape, bool is_flat);

/// Bricks that lie one behind the other, and the box of finer cells that they are made from.
struct Piece {
    std::int64_t first = 0;
    Box box{};
};

/// Cuts a level, whose finer one has this shape, into pieces of at most `most_bytes` of finer cells, one row
/// of bricks at least.
[[nodiscard]] std::vector<Piece> pieces_of(const Level& level, const Extents& finer, bool is_flat,
                                           std::int64_t cell_bytes, std::int64_t most_bytes);

}  // namespace hakobi::overview
