#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "io/policy.hpp"
#include "region/region.hpp"

namespace hakobi::io {

/// A file's stripes, as a plan divides them: an *object* is what lies on one server of every num_objects-th
/// stripe. Each domain is written through `num_lanes` rings of collective buffers, an object through one of
/// them.
struct StripedPlan {
    std::int64_t stripe_bytes = 0;
    int num_objects = 0;
    std::int64_t cycle_bytes = 0;  ///< divides stripe_bytes
    int num_lanes = 1;
    friend bool operator==(const StripedPlan&, const StripedPlan&) = default;
};

/// One of several phases that go through the same range. {0, 1}: what lies behind it is the next one's.
struct PhaseNumber {
    std::int64_t number = 0, of = 1;
    [[nodiscard]] bool is_last() const { return number + 1 >= of; }
};

/// The part of the file that one phase of a collective call covers, divided into cycles of one collective
/// buffer, and the cycles into file domains, one an aggregator.
///
/// Contiguous: aggregator a owns cycles [a * cycles_per_domain, …). Cycle boundaries are multiples of the
/// alignment, so that no cycle crosses a stripe that it does not own whole.
///
/// By server: the objects, each with its stripes in order, stand one behind the other, and every aggregator
/// gets an equal part of that row. So an object has one aggregator, or where these are more than objects a
/// few with a contiguous part of it each; which ones does not depend on the range, so that what one call has
/// locked the next one finds locked by the same node.
struct Domains {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< clipped to what is asked
    std::int64_t base_bytes = 0;                  ///< begin_bytes rounded down to the alignment
    std::int64_t cycle_bytes = 0;
    std::int64_t num_cycles = 0;
    int num_domains = 0;
    int num_lanes = 1;                   ///< of a domain
    std::int64_t cycles_per_domain = 0;  ///< by server: of the domain that has most
    /// By server: of each cycle. Empty: contiguous.
    struct Place {
        std::int32_t domain = 0, lane = 0, object = 0;
        std::int32_t round =
            0;  ///< ranks work on one after the other; each domain begins elsewhere in its objects
        std::int32_t number = 0;  ///< how many of its domain come before it
    };
    std::vector<Place> places;
    std::vector<std::int64_t> begins;  ///< by server, of several phases: where each cycle begins
    PhaseNumber phase;
    std::vector<std::int32_t> order;  ///< by server: the cycles by round, those of a round as in the file

    [[nodiscard]] bool is_by_server() const { return !places.empty(); }
    [[nodiscard]] std::int64_t cycle_begin(std::int64_t cycle) const;  ///< clipped to [begin, end)
    [[nodiscard]] std::int64_t cycle_end(std::int64_t cycle) const;
    [[nodiscard]] int domain_of(std::int64_t cycle) const {
        return is_by_server() ? place(cycle).domain : static_cast<int>(cycle / cycles_per_domain);
    }
    /// The ring of its domain's buffers that a cycle takes its turns in.
    [[nodiscard]] int lane_of(std::int64_t cycle) const { return is_by_server() ? place(cycle).lane : 0; }
    /// Its number among those of all domains.
    [[nodiscard]] int lane_number(std::int64_t cycle) const {
        return domain_of(cycle) * num_lanes + lane_of(cycle);
    }
    /// -1: not known, or several.
    [[nodiscard]] int object_of(std::int64_t cycle) const {
        return is_by_server() ? place(cycle).object : -1;
    }
    /// Ranks work on all cycles of a round before those of the next.
    [[nodiscard]] std::int64_t round_of(std::int64_t cycle) const {
        return is_by_server() ? place(cycle).round : cycle % cycles_per_domain;
    }
    /// The tag of a cycle's message between its aggregator and a node; no two messages of one domain have the
    /// same. `divide` keeps it below MPI_TAG_UB by bounding the cycles of a domain.
    [[nodiscard]] std::int64_t tag_of(std::int64_t cycle, int node, int num_nodes) const {
        return (is_by_server() ? place(cycle).number : cycle % cycles_per_domain) * num_nodes + node;
    }
    /// The cycles that have bytes of [lowest, highest), a range within [begin, end): first, and behind last.
    [[nodiscard]] std::pair<std::int64_t, std::int64_t> cycles_between(std::int64_t lowest,
                                                                       std::int64_t highest) const;
    /// Calls `visit(cycle)` for all, in the order in which all ranks work.
    template <class Visit>
    void for_each_in_order(Visit visit) const {
        for (const std::int32_t cycle : order) visit(static_cast<std::int64_t>(cycle));
        if (is_by_server()) return;
        for (std::int64_t c = 0; c < cycles_per_domain; ++c)
            for (std::int64_t cycle = c; cycle < num_cycles; cycle += cycles_per_domain) visit(cycle);
    }
    /// The same for those of one domain.
    template <class Visit>
    void for_each_of(int domain, Visit visit) const {
        for (const std::int32_t cycle : order)
            if (place(cycle).domain == domain) visit(static_cast<std::int64_t>(cycle));
        if (is_by_server()) return;
        const std::int64_t first = domain * cycles_per_domain;
        for (std::int64_t cycle = first; cycle < std::min(first + cycles_per_domain, num_cycles); ++cycle)
            visit(cycle);
    }

  private:
    [[nodiscard]] std::int64_t unclipped_begin(std::int64_t cycle) const {
        return begins.empty() ? base_bytes + cycle * cycle_bytes : begins[static_cast<std::size_t>(cycle)];
    }
    [[nodiscard]] const Place& place(std::int64_t cycle) const {
        return places[static_cast<std::size_t>(cycle)];
    }
};
/// `max_cycles` bounds the phase: what lies behind it is left to the next one.
[[nodiscard]] Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                                   std::int64_t cb_bytes, std::int64_t align_bytes, std::int64_t max_cycles);
/// The same by server, or one of the phases that go through the whole range each: no more of them than the
/// longest part that a domain has of an object has cycles.
[[nodiscard]] Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                                   const StripedPlan& striped, std::int64_t max_cycles,
                                   PhaseNumber phase = {});
/// Returns how many objects one of `num_aggregators`, which share `num_objects`, has bytes of at most.
[[nodiscard]] int most_objects_of_domain(int num_objects, int num_aggregators);
/// The largest part of a stripe, in equal whole pages, that a buffer of `cb_bytes` holds; 0: there is none.
[[nodiscard]] std::int64_t cycle_of_stripe(std::int64_t stripe_bytes, std::int64_t cb_bytes);

/// The most cycles of a phase: each node has a tally of every cycle (slots.hpp). A phase fills and drains the
/// aggregators' buffers, of which 1,800 aggregators (450 servers of Frontier with four each) have 10,800.
constexpr std::int64_t max_cycles_of_phase = 16384;

/// The parameters by which a call is divided.
struct Division {
    int num_aggregators = 1, num_nodes = 1;
    std::int64_t cb_bytes = 0;  ///< a collective buffer
    int depth = 1;              ///< of them
    std::int64_t align_bytes = 1;
    std::int64_t highest_tag = 0;       ///< MPI_TAG_UB
    std::int64_t most_cycle_bytes = 0;  ///< 0: a collective buffer
    std::int64_t smallest_cycle_bytes = policy_limits::smallest_cycle;
    std::int64_t stripe_bytes = 0;  ///< by server: as in StripedPlan
    int num_objects = 0;            ///< 0: contiguous
    int num_lanes = 1;
    std::int64_t size_bytes = 0;  ///< by server: that all ranks ask for
};
/// The domains of the next phase of a call of which [begin, end) is left: enough cycles that all buffers have
/// something to do, also when there is little, and no more than the tags of a domain's messages tell apart
/// (one for a cycle and a node).
///
/// A call by server that needs several phases, asks for half of its range at least and is between nodes has
/// phases that go through the whole range, each with a part of every domain: a contiguous range is of few
/// nodes, whose network would be the limit. [begin, end) and the division are then the same in each of
/// them, and `number` tells which one.
[[nodiscard]] Domains divide(std::int64_t begin_bytes, std::int64_t end_bytes, const Division& division,
                             std::int64_t number = 0);

/// One rank's part of one cycle: the bytes [stream_begin, stream_end) of its region.
struct CyclePart {
    std::int64_t cycle = 0;
    std::int64_t stream_begin = 0, stream_end = 0;
};
/// The same one after the other, in the file's order. Both arguments outlive it.
class CycleStreams {
  public:
    CycleStreams(const Region& region, const Domains& domains);
    [[nodiscard]] std::optional<CyclePart> next();

  private:
    const Region& region_;
    const Domains& domains_;
    std::int64_t cycle_ = 0, end_cycle_ = 0;
    std::int64_t known_at_ = -1, known_below_ = 0;  // bytes of the region below an offset
};
/// The cycles that an ordered region has bytes in, in the order in which all ranks work: the first cycle of
/// every domain (by server: of every object of it), then the second, and so on, which keeps all aggregators
/// and servers busy.
[[nodiscard]] std::vector<CyclePart> parts_of(const Region& region, const Domains& domains);

/// Returns the ranks that aggregate: `count` of them (0: `per_node` a node), spread over the nodes and within
/// each; ascending by node. `ranks_of_node[n]` lists the ranks of node n.
[[nodiscard]] std::vector<int> choose_aggregators(std::span<const std::vector<int>> ranks_of_node, int count,
                                                  int per_node);

}  // namespace hakobi::io
