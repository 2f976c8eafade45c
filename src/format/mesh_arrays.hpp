#pragma once

#include <string_view>

// The arrays that a mesh is made of, by VTKHDF's names. There are P pieces, one a rank, each with its own
// numbering from 0:

namespace hakobi::format {

inline constexpr std::string_view number_of_points = "NumberOfPoints";                     // P
inline constexpr std::string_view number_of_cells = "NumberOfCells";                       // P
inline constexpr std::string_view number_of_connectivity_ids = "NumberOfConnectivityIds";  // P
inline constexpr std::string_view points_array = "Points";              // all points x 3, real
inline constexpr std::string_view connectivity_array = "Connectivity";  // of all cells, int64
inline constexpr std::string_view offsets_array = "Offsets";            // all cells + P, int64
inline constexpr std::string_view types_array = "Types";                // all cells, uint8
/// On cells, by VTK's name for it: bit 0 is a copy of another piece's cell.
inline constexpr std::string_view ghosts_array = "vtkGhostType";

}  // namespace hakobi::format
