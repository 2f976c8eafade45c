#include "overview/pyramid.hpp"

#include <algorithm>

namespace hakobi::overview {

std::vector<Level> levels_of(const Extents& shape, bool is_flat) {
    constexpr int most = 4;
    const std::int64_t side = is_flat ? 256 : 32;
    std::vector<Level> levels;
    for (int number = 1; number <= most; ++number) {
        Level level{.number = number};
        for (std::size_t d = 0; d < max_dims; ++d) {
            level.shape[d] = (shape[d] + (std::int64_t{1} << number) - 1) >> number;
            level.brick[d] = std::min(side, level.shape[d]);
            level.grid[d] = (level.shape[d] + level.brick[d] - 1) / level.brick[d];
        }
        levels.push_back(level);
        if (*std::ranges::max_element(level.shape) == 1) break;
    }
    return levels;
}

std::vector<Piece> pieces_of(const Level& level, const Extents& finer, bool is_flat, std::int64_t cell_bytes,
                             std::int64_t most_bytes) {
    const std::int64_t depth = is_flat ? 1 : 2 * level.brick[0];
    const std::int64_t row_bytes = finer[2] * cell_bytes * depth * 2 * level.brick[1];
    const std::int64_t group =
        std::max<std::int64_t>(1, std::min(level.grid[1], most_bytes / std::max<std::int64_t>(1, row_bytes)));
    std::vector<Piece> pieces;
    for (std::int64_t layer = 0; layer < level.grid[0]; ++layer) {
        for (std::int64_t row = 0; row < level.grid[1]; row += group) {
            Piece piece{.first = (layer * level.grid[1] + row) * level.grid[2]};
            piece.box[0] = {layer * depth, std::min((layer + 1) * depth, finer[0])};
            piece.box[1] = {2 * level.brick[1] * row,
                            std::min(2 * level.brick[1] * std::min(row + group, level.grid[1]), finer[1])};
            piece.box[2] = {0, finer[2]};
            pieces.push_back(piece);
        }
    }
    return pieces;
}

}  // namespace hakobi::overview
