#include "io/phase_plan.hpp"

#include <algorithm>

#include "base/copy_bytes.hpp"

namespace hakobi::io {

void PhasePlan::number_turns(std::span<const CycleTally> tallies, std::span<std::uint32_t> next_turns) {
    turns.assign(static_cast<std::size_t>(domains.num_cycles), no_turn);
    first_turns.assign(next_turns.begin(), next_turns.end());
    staging_cycles.clear();
    // In the order in which ranks work, so that the staging turns are taken in that order too.
    for (std::int64_t c = 0; c < domains.cycles_per_domain; ++c) {
        for (int d = 0; d < domains.num_domains; ++d) {
            const std::int64_t cycle = d * domains.cycles_per_domain + c;
            if (cycle >= domains.num_cycles) continue;
            const auto at = static_cast<std::size_t>(cycle);
            if (tallies[at].num_contributions() == 0) continue;
            if (const int local = local_index[static_cast<std::size_t>(d)]; local >= 0) {
                turns[at] = next_turns[static_cast<std::size_t>(local)]++;
            } else {
                turns[at] = static_cast<std::uint32_t>(staging_cycles.size());
                staging_cycles.push_back(static_cast<std::uint32_t>(cycle));
            }
        }
    }
}

bool PhasePlan::is_dense(std::int64_t cycle, std::span<const CycleTally> tallies) const {
    return tallies[static_cast<std::size_t>(cycle)].sum() ==
           whole_window(domains.cycle_begin(cycle), domains.cycle_end(cycle));
}

std::vector<Turn> PhasePlan::turns_of(int domain, std::span<const CycleTally> tallies) const {
    std::vector<Turn> result;
    const std::int64_t first = domain * domains.cycles_per_domain;
    for (std::int64_t cycle = first; cycle < std::min(first + domains.cycles_per_domain, domains.num_cycles);
         ++cycle) {
        if (turns[static_cast<std::size_t>(cycle)] == no_turn) continue;
        const std::int64_t begin = domains.cycle_begin(cycle), end = domains.cycle_end(cycle);
        if (is_write) {
            result.push_back({begin, end, is_dense(cycle, tallies)});
            continue;
        }
        // What lies before and behind all pieces is not read, in whole blocks.
        const CycleTally& tally = tallies[static_cast<std::size_t>(cycle)];
        const std::int64_t from = std::max(begin, tally.wanted_begin.load() / page_bytes * page_bytes);
        const std::int64_t wanted_end = tally.wanted_end.load();
        const std::int64_t to = wanted_end + std::min(end - wanted_end, -wanted_end & (page_bytes - 1));
        result.push_back({from, to, false, from - begin});
    }
    return result;
}

}  // namespace hakobi::io
