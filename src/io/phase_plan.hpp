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
        turns;  ///< of each cycle: its turn at its aggregator, or its staging turn of this phase
    std::vector<std::uint32_t> first_turns;  ///< of each local aggregator in this phase
    std::vector<std::uint32_t>
        staging_cycles;  ///< cycles of other nodes' aggregators that this node contributes to, in staging order
    static constexpr std::uint32_t no_turn = 0xffffffff;

    /// Numbers the turns from what everybody has added to the tallies: those of local aggregator i from next_turns[i] on,
    /// which is advanced.
    void number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns);
    /// The turns of one local aggregator.
    [[nodiscard]] std::vector<Turn> turns_of(int domain, std::span<const CycleTally> tallies) const;
    [[nodiscard]] bool is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const;
};

}  // namespace hakobi::io
