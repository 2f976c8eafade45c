#pragma once

#include <cstdint>
#include <span>
#include <variant>

namespace hakobi {

/// How an unstructured mesh behaves from step to step; equal on all ranks.
enum class Motion : std::uint8_t {
    fixed = 0,    ///< put once: it stands in all later steps, until it is put again
    moves = 1,    ///< its points are put in every step (Output::put_points), its cells once
    changes = 2,  ///< all of it is put in every step
};

/// What a field has a value, or several components, for each of.
enum class On : std::uint8_t { grid = 0, points = 1, cells = 2 };

/// This rank's part of an unstructured mesh: points, and cells of VTK's types that name them by the rank's own numbers. A rank
/// without cells leaves all of it empty. Lent until end_step returns.
struct Mesh {
    using Points = std::variant<std::span<const double>, std::span<const float>>;
    using Numbers = std::variant<std::span<const std::int64_t>, std::span<const std::int32_t>>;

    /// x, y, z of one point after the other, those of ghost cells too. Of one type on all ranks. Ranks that share a point
    /// have it each.
    Points points;
    /// The points of one cell after the other, in VTK's order.
    Numbers connectivity;
    /// Where each cell's points begin in `connectivity`, and behind the last where they end: one more than there are cells,
    /// beginning with 0.
    Numbers offsets;
    /// One a cell: 5 triangle, 9 quadrilateral, 10 tetrahedron, 12 hexahedron, 13 wedge, 14 pyramid, 7 polygon, … (VTK's
    /// vtkCellType.h). Polyhedra (42) are not in the format's version.
    std::span<const std::uint8_t> types;
    /// One a cell, or none: 0 for a rank's own, 1 for a copy of one that another rank owns, which readers do not show.
    std::span<const std::uint8_t> ghosts = {};
    Motion motion = Motion::fixed;
    std::int64_t first_number = 0;  ///< what `connectivity` calls the first point: 0 or 1
};

}  // namespace hakobi
