#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/pipeline.hpp"
#include "io/plan.hpp"
#include "io/slots.hpp"

namespace hakobi::io {

/// One phase as all ranks of a node see it: the same on each of them.
struct PhasePlan {
    bool is_write = false;
    Domains domains;
    std::vector<int> aggregators;  ///< rank of each domain's aggregator
    std::vector<int> local_index;  ///< of each domain: its aggregator's index on this node, or -1
    std::vector<std::uint32_t>
        turns;  ///< of each cycle: its turn in its lane, or its staging turn of this phase
    std::vector<std::uint32_t> first_turns;  ///< in this phase: of each local aggregator's lanes
    /// For each ring of staging buffers, the cycles of other nodes' aggregators that this node contributes
    /// to, in staging order.
    std::vector<std::vector<std::uint32_t>> staging_cycles;
    static constexpr std::uint32_t no_turn = 0xffffffff;

    /// Numbers the turns from what everybody has added to the tallies: those of local aggregator i's lane l
    /// from next_turns[i * num_lanes + l] on, which is advanced.
    void number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns,
                      int num_staging_rings);
    /// The turns of a local aggregator, by lane.
    [[nodiscard]] std::vector<LaneTurns> turns_of(int domain, std::span<const CycleTally> tallies) const;
    /// Where number_turns counts a cycle of a local aggregator.
    [[nodiscard]] std::size_t lane_index(std::int64_t cycle) const {
        const int local = local_index[static_cast<std::size_t>(domains.domain_of(cycle))];
        return static_cast<std::size_t>(local * domains.num_lanes + domains.lane_of(cycle));
    }
    /// The staging ring of a cycle of another node's aggregator: a lane's cycles are in one.
    [[nodiscard]] std::size_t staging_ring_of(std::int64_t cycle) const {
        return static_cast<std::size_t>(domains.lane_number(cycle)) % staging_cycles.size();
    }
    [[nodiscard]] bool is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const;
};

}  // namespace hakobi::io
