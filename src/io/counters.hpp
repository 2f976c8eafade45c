#pragma once

#include <cstdint>

namespace hakobi::io {

/// The costs of one rank's calls on one engine so far; local.
struct EngineCounters {
    std::int64_t calls = 0, cycles = 0, direct_calls = 0;
    std::int64_t user_bytes = 0;    ///< bytes of this rank's requests
    std::int64_t copied_bytes = 0;  ///< bytes that this rank copied between its memory and collective buffers
    std::int64_t pieces = 0;        ///< contiguous runs of those requests in the file
    std::int64_t messages = 0;      ///< messages between nodes that this rank sent
    std::int64_t message_bytes = 0;
    std::int64_t storage_bytes = 0;  ///< bytes that this rank's threads moved to or from storage
    std::int64_t filled_bytes = 0;   ///< of that: read back to be written around holes
    double call_s = 0;               ///< inside collective calls
    double plan_s = 0;               ///< of that: describing and planning
    double copy_s = 0;               ///< of that: copying between memory and collective buffers
    double wait_buffer_s =
        0;                   ///< of that: waiting for a free collective buffer or for one that storage fills
    double wait_peer_s = 0;  ///< of that: waiting for other ranks
    double wait_hidden_s = 0;  ///< for hidden writes that a call of this rank must see or come behind
    double write_wait_s = 0;   ///< of call_s: writes, but for copying, planning and waiting for other ranks
    double storage_s = 0;      ///< summed over I/O threads: inside file accesses
    double storage_end_s = 0;  ///< when the last of the pipeline's was over, on now_s(); 0: none
};

}  // namespace hakobi::io
