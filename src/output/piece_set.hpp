#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "format/netcdf4/layout.hpp"
#include "output/piece.hpp"

namespace hakobi::output {

/// All pieces of a step, checked against each other: of one run, one step, one description.
struct PieceSet {
    format::StepDescription description;
    std::vector<Piece> pieces;  ///< by rank
};

/// Local. format when a piece is missing, torn, damaged or of another step; the values are not read.
Result<PieceSet> read_piece_set(const std::string& folder);

/// Writes the values of all pieces to the laid out file at `path`; format where they are not those that were written.
/// Memory is bounded by `buffer_bytes` and a few hundred bytes a piece. Local.
Status write_values(const PieceSet& set, const format::Layout& layout, const std::string& path,
                    std::int64_t buffer_bytes);

/// Whether the file at `path` is what the pieces make: its size, its description and the checksums of every piece's
/// values are read back. format, saying what differs, where it is not. Local.
Status prove_file(const PieceSet& set, const format::Layout& layout, const std::string& path,
                  std::int64_t buffer_bytes);

}  // namespace hakobi::output
