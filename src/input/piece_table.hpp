#pragma once

#include <hakobi/comm.hpp>
#include <string>
#include <vector>

#include "input/destination.hpp"
#include "mpi/agree.hpp"

namespace hakobi::input {

/// Where the values of a step are that lies in pieces, each field's in the order of the step's description.
struct PieceTable {
    struct Entry {
        std::string path;
        std::vector<Region> regions;              ///< of the file that the pieces make
        std::vector<std::int64_t> offsets_bytes;  ///< of the same bytes in the piece
    };
    std::string folder;
    std::vector<std::int64_t>
        field_offsets_bytes;  ///< where the fields begin in the file that the pieces make
    std::vector<Entry> pieces;
};

/// Rank 0 reads the pieces' headers and tells all ranks. Collective over `comm`; with an empty one this
/// process does it.
mpi::Agreed read_piece_table(const Comm& comm, const std::string& folder, PieceTable& table) noexcept;

/// Reads what this rank wants from the pieces that have it, through what `backend` names before a path ("",
/// "posix:", …); elements in none of them become zero. Local.
Status read_from_pieces(const PieceTable& table, std::size_t field, const std::string& backend,
                        const Destination& to);

}  // namespace hakobi::input
