#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "io/page_locks.hpp"
#include "io/slots.hpp"
#include "node/node_window.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

/// The collective buffers of a node as one of its ranks sees them.
struct NodeBuffers {
    std::vector<AggregatorState*> aggregators;  ///< of this node, in the order of `local_aggregators`
    std::vector<std::byte*> buffers;            ///< each aggregator's, depth of them
    std::vector<std::uint64_t*> marks;
    AggregatorState* staging = nullptr;  ///< buffers for aggregators of other nodes; null on a single node
    std::byte* staging_buffers = nullptr;
    std::uint64_t* staging_marks = nullptr;
    std::int64_t cb_bytes = 0;  ///< with `depth`: the memory that each aggregator, and staging, has
    int depth = 0;
    Rings rings, staging_rings;    ///< how it is divided now
    FutexWord* changed = nullptr;  ///< counts the buffers that have opened, of files by server
    /// The window that all of them lie in, and the part of it that this process has locked.
    struct Mapped {
        node::NodeWindow* window = nullptr;
        PageLocks* locks = nullptr;
    } mapped;

    /// Bytes of shared memory for `num_aggregators` of this node; `place` cuts `memory` of that size up.
    static std::int64_t bytes_needed(int num_aggregators, bool has_staging, std::int64_t cb_bytes, int depth);
    void place(std::byte* memory, int num_aggregators, bool has_staging);
    [[nodiscard]] std::byte* buffer_of(int aggregator, std::int64_t slot) const {
        return buffers[static_cast<std::size_t>(aggregator)] + slot * rings.slot_bytes;
    }
    [[nodiscard]] std::uint64_t* marks_of(int aggregator, std::int64_t slot) const {
        return marks[static_cast<std::size_t>(aggregator)] + slot * ByteMarks::num_words(rings.slot_bytes);
    }
    [[nodiscard]] std::byte* staging_of(std::int64_t slot) const {
        return staging_buffers + slot * staging_rings.slot_bytes;
    }
    [[nodiscard]] ByteMarks staging_marks_of(std::int64_t slot, std::int64_t num_bytes) const {
        return {staging_marks + slot * ByteMarks::num_words(staging_rings.slot_bytes), num_bytes};
    }
    /// Before a device copies to or from a buffer: locks its pages in this process.
    void lock_buffer(device::Device& device, int aggregator, std::int64_t slot) const;
    void lock_staging(device::Device& device, std::int64_t slot) const;
    /// `num` rings of buffers for cycles of `slot_bytes`, out of the memory there is; fewer rings where there
    /// are not so many buffers. One ring: `depth` buffers of `cb_bytes`.
    [[nodiscard]] Rings divided(int num, std::int64_t slot_bytes) const;
};

}  // namespace hakobi::io
