#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "region/region.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

/// One rank's request, from a stream position on, carried out piece by piece without a shuffle.
struct PiecesRequest {
    const Region& file;
    const Region& memory;
    std::byte* origin = nullptr;
    std::int64_t stream_begin = 0;
    std::int64_t stream_end = 0;
    bool is_write = false;
    std::int64_t chunk_bytes = 4 << 20;  ///< longer pieces are cut
    bool is_in_memory = false;           ///< storage serves from memory: short copies stay in the cache
};

struct PiecesResult {
    Status status;
    std::int64_t bytes = 0;      ///< moved; reading: up to the end of the file
    std::int64_t num_calls = 0;  ///< file accesses
    bool has_waited = false;     ///< the first access slept: the storage does not serve from memory
};

/// Moves the request. Where one piece of the file is in several runs of memory it goes through a buffer of
/// one chunk. With `access`, up to `depth` chunks are under way at once; without, each call is made in line.
/// Local; its waits are mpi::Wait's, with `comm`.
PiecesResult move_pieces(const Comm& comm, storage::File& file, storage::Access* access, int depth,
                         const PiecesRequest& request);

}  // namespace hakobi::io
