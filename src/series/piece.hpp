#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "series/series.hpp"
#include "series/step.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"

namespace hakobi::series {

// A piece is one rank's part of one step in a file of its own, <step file>.pieces/<rank>.piece, in native
// byte order:
//
//   preamble  magic "hakobi:p", version, a number that shows the byte order, length and checksum of the header
//   header    run, step, rank, number of ranks, fingerprint of the step's description, and for each part of the rank the
//             region of the file where its bytes go (Region::to_words); in rank 0's piece also the description itself
//             (format::encode_step), and the file's layout
//   values    of each part in its order, one part after the other
//   trailer   a checksum for each part, then magic "whole:p\n"
//
// The trailer is written last: a piece without it, or shorter than its header says, was being written when
// its run was killed.

struct PieceHeader {
    RunId run{};  ///< of the run that wrote it: pieces of two runs are never one step
    std::int64_t step = 0;
    int rank = 0;
    int num_ranks = 0;
    std::uint64_t step_fingerprint = 0;
    std::vector<Region> regions;  ///< of the file, one a part
    // Empty but in rank 0's piece:
    std::vector<std::byte> description;       ///< format::encode_step
    std::vector<std::int64_t> offsets_bytes;  ///< where the file has each field (format::Layout)
    std::int64_t file_bytes = 0;
    std::vector<storage::Member> members;  ///< format::Layout
    std::vector<format::Extent> metadata;
};

/// A piece that was found whole: what it holds and where.
struct Piece {
    std::string path;
    PieceHeader header;
    std::vector<std::int64_t> values_bytes;  ///< offset of each part's values in the piece
    std::vector<std::uint64_t> checksums;    ///< of each part's values
};

/// In a folder of pieces, locked by who gathers them.
inline constexpr std::string_view pieces_lock = ".lock";

/// "<file>.pieces/<rank>.piece".
[[nodiscard]] std::string piece_path(const std::string& folder, int rank);
[[nodiscard]] bool is_piece(std::string_view path);

/// Writes this rank's piece of a step; nothing may have its name (exists). Local.
Status write_piece(const std::string& path, const Step& step, int rank, int num_ranks, bool sync);
/// Its two halves: the file, and what is in it.
Result<storage::FilePtr> create_piece(const std::string& path);
Status fill_piece(storage::File& file, const Step& step, int rank, int num_ranks);

/// Opens and checks everything but the values. not_found when there is no such file, format when it is torn
/// or not a piece (the text says which). A checksum only tells that bytes are as somebody wrote them, so a
/// piece that is returned also makes sense by itself: its rank is one of its ranks, its regions are ordered
/// and begin at 0 or later, and its values lie inside the piece.
Result<Piece> read_piece(const std::string& path);

/// A header's bytes in a piece, and back: format when they are none, or say what no piece can. Pure.
[[nodiscard]] std::vector<std::byte> encode_header(const PieceHeader& header);
Result<PieceHeader> decode_header(std::span<const std::byte> bytes);

/// The ranks whose pieces are in `folder`, ascending: what a header says of their number is not believed.
Result<std::vector<int>> ranks_in(const std::string& folder);

}  // namespace hakobi::series
