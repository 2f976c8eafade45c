#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "series/piece.hpp"

namespace hakobi::series {

/// All pieces of a step, checked against each other: of one run, one step, one description, with as many
/// parts each that lie in the file. To make the file, its metadata are enough, which piece 0 has.
struct PieceSet {
    format::StepDescription description;
    std::vector<Piece> pieces;  ///< by rank

    [[nodiscard]] std::size_t num_parts() const { return pieces[0].header.regions.size(); }
    [[nodiscard]] std::int64_t file_bytes() const { return pieces[0].header.file_bytes; }
    [[nodiscard]] const std::vector<format::Extent>& metadata() const { return pieces[0].header.metadata; }
    /// Where the pieces' bytes of a part go, by rank.
    [[nodiscard]] std::vector<Region> regions(std::size_t part) const;
};

/// Local. format when a piece is missing, torn, damaged or of another step; the values are not read.
Result<PieceSet> read_piece_set(const std::string& folder);

/// Writes the values of all pieces to the laid out file at `path`; format where they are not those that were
/// written. Memory is bounded by `buffer_bytes` and a few hundred bytes a piece. Local.
Status write_values(const PieceSet& set, const std::string& path, std::int64_t buffer_bytes);

/// Whether the file at `path` is what the pieces make: its size, its metadata and the checksums of every
/// piece's values are read back. format, saying what differs, where it is not. Local.
Status prove_file(const PieceSet& set, const std::string& path, std::int64_t buffer_bytes);

}  // namespace hakobi::series
