#pragma once

#include <cstdint>
#include <span>
#include <variant>

namespace hakobi {
inline namespace v0 {

/// How an unstructured mesh behaves from step to step; equal on all ranks.
enum class Motion : std::uint8_t {
    fixed = 0,    ///< put once; valid for all later steps until it is put again
    moves = 1,    ///< points are put in every step (Output::put_points), cells once
    changes = 2,  ///< points and cells are put in every step
};

/// Where a field's values are.
enum class On : std::uint8_t { grid = 0, points = 1, cells = 2 };

/// This rank's part of an unstructured mesh: points, and cells of VTK's types that refer to them by the
/// rank's own numbering. A rank without cells leaves everything empty. The memory must stay valid and
/// unchanged until end_step returns.
struct Mesh {
    using Points = std::variant<std::span<const double>, std::span<const float>>;
    using Numbers = std::variant<std::span<const std::int64_t>, std::span<const std::int32_t>>;

    /// x, y, z of each point, including the points of ghost cells. The type is equal on all ranks. A point
    /// that several ranks share is in each rank's part. They may be in memory of a device, whose default
    /// stream then makes them; the mesh's other arrays may not.
    Points points;
    /// Each cell's points, in VTK's order.
    Numbers connectivity;
    /// Where each cell's points begin in `connectivity`, followed by the end of the last cell's: number of
    /// cells + 1 entries, the first one 0.
    Numbers offsets;
    /// One per cell: 5 triangle, 9 quadrilateral, 10 tetrahedron, 12 hexahedron, 13 wedge, 14 pyramid, 7
    /// polygon, … (VTK's vtkCellType.h). The format's version has no polyhedra (42).
    std::span<const std::uint8_t> types;
    /// One per cell, or empty: 0 for an own cell, 1 for a copy of another rank's cell, which readers do not
    /// show.
    std::span<const std::uint8_t> ghosts = {};
    Motion motion = Motion::fixed;
    std::int64_t first_number = 0;  ///< number of the first point in `connectivity`: 0 or 1
};

}  // namespace v0
}  // namespace hakobi
