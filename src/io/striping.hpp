#pragma once

#include <cstdint>

#include "io/node_buffers.hpp"
#include "io/plan.hpp"

namespace hakobi::io {

// How the engine uses a file's stripes: which aggregators, which domains, how many requests. Pure; the
// thresholds are policy.hpp's.

/// A file's stripes as all ranks know them: those of the part of its layout that holds the bulk of a large
/// file.
struct FileStripes {
    std::int64_t stripe_bytes = 0;
    int num_objects = 0;  ///< side by side; 0: no stripes, or none that are known
    int num_servers = 0;  ///< that these are on; 0: not known, each object is taken for one
    [[nodiscard]] int servers() const { return num_servers > 0 ? num_servers : num_objects; }
};

/// Whether cycles of a buffer of `cb_bytes` can be whole parts of stripes, large enough to be a server's
/// request each.
[[nodiscard]] bool can_go_by_server(const FileStripes& stripes, std::int64_t cb_bytes);

/// Aggregators of a file, where nobody has asked for a number: one a node; more where the nodes have many
/// servers each; no more than servers can use.
[[nodiscard]] int aggregators_of(const FileStripes& stripes, int num_nodes, int largest_node);

/// Requests in flight for a server, from one of `num_aggregators`. `asked`: hakobi_server_requests, from all
/// of them together; 0: as many as pay.
[[nodiscard]] int server_requests_of(const FileStripes& stripes, int num_aggregators, int asked);

/// I/O threads of an aggregator, each in one request: for all that may be in flight.
[[nodiscard]] int striped_threads_of(const FileStripes& stripes, int num_aggregators, int server_requests);

/// How buffers and cycles serve a file with stripes.
struct StripedBuffers {
    StripedPlan plan;            ///< but for smaller cycles of short calls
    Rings rings, staging_rings;  ///< of an aggregator; of a node
};
[[nodiscard]] StripedBuffers striped_buffers(const FileStripes& stripes, const NodeBuffers& buffers,
                                             int num_aggregators);

}  // namespace hakobi::io
