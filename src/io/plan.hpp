#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "region/region.hpp"

namespace hakobi::io {

/// The part of the file that one phase of a collective call covers, divided into cycles of one collective buffer, and
/// the cycles into file domains, one an aggregator: aggregator a owns cycles [a * cycles_per_domain, …). Cycle
/// boundaries are multiples of the alignment, so that no cycle crosses a stripe that it does not own whole.
struct Domains {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< clipped to what is asked
    std::int64_t base_bytes = 0;                  ///< begin_bytes rounded down to the alignment
    std::int64_t cycle_bytes = 0;
    std::int64_t num_cycles = 0;
    std::int64_t cycles_per_domain = 0;
    int num_domains = 0;

    [[nodiscard]] std::int64_t cycle_begin(std::int64_t cycle) const;  ///< clipped to [begin, end)
    [[nodiscard]] std::int64_t cycle_end(std::int64_t cycle) const;
    /// Domain d owns the cycles [first_cycle(d), end_cycle(d)).
    [[nodiscard]] std::int64_t first_cycle(int domain) const { return domain * cycles_per_domain; }
    [[nodiscard]] std::int64_t end_cycle(int domain) const {
        return std::min((domain + 1) * cycles_per_domain, num_cycles);
    }
    [[nodiscard]] int domain_of(std::int64_t cycle) const {
        return static_cast<int>(cycle / cycles_per_domain);
    }
    /// Of a cycle's message between its aggregator and a node: of one domain's messages no two have the same. `divide` keeps it
    /// below MPI_TAG_UB by bounding the cycles of a domain.
    [[nodiscard]] std::int64_t tag_of(std::int64_t cycle, int node, int num_nodes) const {
        return cycle % cycles_per_domain * num_nodes + node;
    }
    [[nodiscard]] std::int64_t cycle_of(std::int64_t offset_bytes) const {
        return (offset_bytes - base_bytes) / cycle_bytes;
    }
};
/// `max_cycles` bounds the phase: what lies behind it is left to the next one.
[[nodiscard]] Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                                   std::int64_t cb_bytes, std::int64_t align_bytes, std::int64_t max_cycles);

/// What one phase covers at most: each node has a tally of every cycle (slots.hpp).
constexpr std::int64_t max_cycles_of_phase = 4096;

/// What a call is divided among, and by.
struct Division {
    int num_aggregators = 1, num_nodes = 1;
    std::int64_t cb_bytes = 0;  ///< a collective buffer
    int depth = 1;              ///< of them
    std::int64_t align_bytes = 1;
    std::int64_t highest_tag = 0;  ///< MPI_TAG_UB
    bool are_short_cycles_wanted =
        false;  ///< the storage serves from memory, and nobody has asked for a cycle's size
};
/// The domains of the next phase of a call of which [begin, end) is left: enough cycles that all buffers have something to do,
/// also when there is little, and no more than the tags of a domain's messages tell apart (one for a cycle and a node).
[[nodiscard]] Domains divide(std::int64_t begin_bytes, std::int64_t end_bytes, const Division& division);

/// One rank's part of one cycle: the bytes [stream_begin, stream_end) of its region.
struct CyclePart {
    std::int64_t cycle = 0;
    std::int64_t stream_begin = 0, stream_end = 0;
};
/// The cycles that an ordered region has bytes in, in the order in which all ranks work: the first cycle of every
/// domain, then the second of every domain, and so on, which keeps all aggregators busy.
[[nodiscard]] std::vector<CyclePart> parts_of(const Region& region, const Domains& domains);

/// Which ranks aggregate: `count` of them (0: `per_node` a node), spread over the nodes and within each; ascending by
/// node. `ranks_of_node[n]` lists the ranks of node n.
[[nodiscard]] std::vector<int> choose_aggregators(std::span<const std::vector<int>> ranks_of_node, int count,
                                                  int per_node);

}  // namespace hakobi::io
