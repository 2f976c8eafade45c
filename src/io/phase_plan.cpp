#include "io/phase_plan.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace hakobi::io {

void PhasePlan::number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns,
                             int num_staging_rings) {
    turns.assign(static_cast<std::size_t>(domains.num_cycles), no_turn);
    first_turns.assign(next_turns.begin(), next_turns.end());
    staging_cycles.assign(static_cast<std::size_t>(num_staging_rings), {});
    // In the order in which ranks work, so that the staging turns are taken in that order too.
    domains.for_each_in_order([&](std::int64_t cycle) {
        const auto at = static_cast<std::size_t>(cycle);
        if (tallies[at].num_contributions() == 0) return;
        if (local_index[static_cast<std::size_t>(domains.domain_of(cycle))] >= 0) {
            turns[at] = next_turns[lane_index(cycle)]++;
        } else {
            std::vector<std::uint32_t>& ring = staging_cycles[staging_ring_of(cycle)];
            turns[at] = static_cast<std::uint32_t>(ring.size());
            ring.push_back(static_cast<std::uint32_t>(cycle));
        }
    });
}

bool PhasePlan::is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const {
    return tallies[static_cast<std::size_t>(cycle)].sum() ==
           whole_window(domains.cycle_begin(cycle), domains.cycle_end(cycle));
}

std::vector<LaneTurns> PhasePlan::turns_of(int domain, std::span<const CycleTally> tallies) const {
    std::vector<LaneTurns> result(static_cast<std::size_t>(domains.num_lanes));
    const int first_lane = local_index[static_cast<std::size_t>(domain)] * domains.num_lanes;
    for (std::size_t lane = 0; lane < result.size(); ++lane)
        result[lane].first_turn = first_turns[static_cast<std::size_t>(first_lane) + lane];
    domains.for_each_of(domain, [&](std::int64_t cycle) {
        if (turns[static_cast<std::size_t>(cycle)] == no_turn) return;
        std::vector<Turn>& of_lane = result[static_cast<std::size_t>(domains.lane_of(cycle))].turns;
        const std::int64_t begin = domains.cycle_begin(cycle), end = domains.cycle_end(cycle);
        if (is_write) {
            of_lane.push_back({begin, end, is_dense(cycle, tallies), 0, domains.object_of(cycle)});
            return;
        }
        // Whole blocks before and behind all pieces are not read.
        const CycleTally& tally = tallies[static_cast<std::size_t>(cycle)];
        const std::int64_t from = std::max(begin, tally.wanted_begin.load() / page_bytes * page_bytes);
        const std::int64_t wanted_end = tally.wanted_end.load();
        const std::int64_t to = wanted_end + std::min(end - wanted_end, -wanted_end & (page_bytes - 1));
        of_lane.push_back({from, to, false, from - begin, domains.object_of(cycle)});
    });
    return result;
}

}  // namespace hakobi::io
