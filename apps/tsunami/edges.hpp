#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "field.hpp"

namespace hakobi::tsunami {

/// The condition at the region's edge: `open` lets waves out (the outermost cell continues), `wall` reflects
/// them.
enum class Boundary { open, wall };

/// The region's edges as one block of a 2-D decomposition meets them: fills the ghost cells that no neighbour
/// fills. Ranks count in C order, as hakobi::split has them. A value.
class Edges {
  public:
    Edges(std::span<const int> dims, int rank, Boundary boundary);

    /// Ghost columns of rows, and ghost rows of columns, without corners. `wall_sign`: what becomes of the
    /// sign where a wall mirrors the field (-1 for the momentum across it). Local.
    void fill_columns(CellField& field, double wall_sign = 1) const;
    void fill_rows(CellField& field, double wall_sign = 1) const;

    [[nodiscard]] bool is_outer(int side) const { return is_outer_[static_cast<std::size_t>(side)]; }
    [[nodiscard]] Boundary boundary() const { return boundary_; }
    static constexpr int west = 0, east = 1, south = 2, north = 3;

  private:
    Boundary boundary_;
    std::array<bool, 4> is_outer_;
};

}  // namespace hakobi::tsunami
