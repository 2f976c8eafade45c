#pragma once

#include <cstddef>
#include <hakobi/comm.hpp>
#include <span>

#include "base/timeline.hpp"
#include "io/counters.hpp"
#include "io/descriptions.hpp"
#include "io/node_buffers.hpp"
#include "io/node_parts.hpp"
#include "io/phase_plan.hpp"
#include "io/pipeline.hpp"
#include "io/slots.hpp"

namespace hakobi::io {

/// Where one rank's data of one phase goes: the plan, the node's buffers, what is known of other ranks, and who counts. Lent for
/// the phase.
struct PhaseSite {
    const Comm& comm;
    const PhasePlan& plan;
    const NodeBuffers& buffers;
    ControlBlock& control;
    const HeldRegions& held;       ///< as aggregator, of other nodes' ranks; on a single node none
    NodeParts node;                ///< of this node's ranks; on a single node not used
    Pipeline* pipeline = nullptr;  ///< this rank's, when it aggregates
    int my_domain = -1;            ///< its domain then
    EngineCounters& counters;
    Timeline& timeline;

    [[nodiscard]] CycleTally& tally(std::int64_t cycle) const {
        return control.tallies[static_cast<std::size_t>(cycle)];
    }
    [[nodiscard]] std::uint32_t turn(std::int64_t cycle) const {
        return plan.turns[static_cast<std::size_t>(cycle)];
    }
    /// The aggregator's index on this node; -1: on another one.
    [[nodiscard]] int local_index(int domain) const {
        return plan.local_index[static_cast<std::size_t>(domain)];
    }
    [[nodiscard]] AggregatorState& aggregator(int local) const {
        return *buffers.aggregators[static_cast<std::size_t>(local)];
    }
    /// A contribution to the buffer is in (out); the last one passes it on.
    static void arrive(AggregatorState& state, std::uint32_t slot, std::uint32_t expected) {
        if (state.slots[slot].num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == expected)
            state.ready.push(slot);
    }
};

/// One rank's request, as a phase moves it.
struct PhaseData {
    const Region& file;
    const Region& memory;
    std::byte* origin;
};

}  // namespace hakobi::io
