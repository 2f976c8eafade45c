#pragma once

#include <cstdint>

namespace hakobi::output {

/// How many points a cell of a type has: from `least` to `most`.
struct NumPoints {
    std::int64_t least = 0, most = -1;
    [[nodiscard]] bool is_type() const { return most >= 0; }
};

/// By VTK's numbers (vtkCellType.h of VTK 9.7 and the cells' classes); no type for others, and for polyhedra,
/// whose faces VTKHDF 1.0 cannot hold.
[[nodiscard]] NumPoints num_points_of(std::uint8_t type);

}  // namespace hakobi::output
