#pragma once

#include <cstddef>
#include <hakobi/comm.hpp>
#include <span>

#include "base/timeline.hpp"
#include "io/counters.hpp"
#include "io/descriptions.hpp"
#include "io/device_memory.hpp"
#include "io/node_buffers.hpp"
#include "io/node_parts.hpp"
#include "io/phase_plan.hpp"
#include "io/slots.hpp"

namespace hakobi::io {

/// Where one rank's data of one phase goes: the plan, the node's buffers, what is known of other ranks, and
/// who counts. Lent for the phase.
struct PhaseSite {
    const Comm& comm;
    const PhasePlan& plan;
    const NodeBuffers& buffers;
    ControlBlock& control;
    std::span<CycleTally> tallies;
    const HeldRegions& held;  ///< as aggregator, of other nodes' ranks; on a single node none
    NodeParts node;           ///< of this node's ranks; on a single node not used
    int my_domain = -1;       ///< this rank's, when it aggregates
    EngineCounters& counters;
    Timeline& timeline;

    [[nodiscard]] CycleTally& tally(std::int64_t cycle) const {
        return tallies[static_cast<std::size_t>(cycle)];
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
    /// The collective buffer of a cycle whose aggregator is on this node.
    struct BufferPlace {
        int local = 0;  ///< the aggregator's index on this node
        std::uint32_t turn = 0, slot = 0;
        AggregatorState& state;
        std::byte* buffer = nullptr;
        std::int64_t begin_bytes = 0;  ///< what of the file it begins with
        [[nodiscard]] FutexWord& awaited() const { return state.slots[slot].turn; }
    };
    [[nodiscard]] BufferPlace buffer_of(std::int64_t cycle) const {
        const int local = local_index(plan.domains.domain_of(cycle));
        const std::uint32_t slot = buffers.rings.slot_of(plan.domains.lane_of(cycle), turn(cycle));
        return {local,
                turn(cycle),
                slot,
                aggregator(local),
                buffers.buffer_of(local, slot),
                plan.domains.cycle_begin(cycle)};
    }
    [[nodiscard]] ByteMarks marks_of(const BufferPlace& place) const {
        return {buffers.marks_of(place.local, place.slot), buffers.rings.slot_bytes};
    }
};

/// One rank's request, as a phase moves it.
struct PhaseData {
    const Region& file;
    const Region& memory;
    std::byte* origin;
    DeviceMemory* device;  ///< null: all memory is the host's
};

}  // namespace hakobi::io
