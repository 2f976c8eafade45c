#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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
    std::int64_t cb_bytes = 0;
    int depth = 0;
    int staging_depth = 0;
    node::NodeWindow* window = nullptr;  ///< which all of them lie in

    /// Bytes of shared memory for `num_aggregators` of this node; `place` cuts `memory` of that size up.
    static std::int64_t bytes_needed(int num_aggregators, bool has_staging, std::int64_t cb_bytes, int depth);
    void place(std::byte* memory, int num_aggregators, bool has_staging);
    [[nodiscard]] std::uint64_t* marks_of(int aggregator, std::int64_t slot) const {
        return marks[static_cast<std::size_t>(aggregator)] + slot * ByteMarks::num_words(cb_bytes);
    }
};

}  // namespace hakobi::io
