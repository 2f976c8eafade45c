#pragma once

#include "io/pieces.hpp"

namespace hakobi::io {

/// Moves one rank's request of fine pieces by data sieving: a stretch of the file in one access, with what
/// lies between the pieces. A written stretch that the pieces do not fill is read before, under the file's
/// lock on that range, so that holes keep what others put there, also meanwhile. A stretch of few pieces, and
/// one that may not be filled (`may_fill_holes`, or no lock), is moved piece by piece. The file region is
/// ordered, the storage serves from memory. Local; neither waits.
PiecesResult move_by_sieving(const Comm& comm, storage::File& file, const PiecesRequest& request,
                             bool may_fill_holes);

}  // namespace hakobi::io
