#include "io/plan.hpp"

#include <algorithm>
#include <cassert>

#include "io/policy.hpp"

namespace hakobi::io {

std::int64_t Domains::cycle_begin(std::int64_t cycle) const {
    return std::max(begin_bytes, base_bytes + cycle * cycle_bytes);
}
std::int64_t Domains::cycle_end(std::int64_t cycle) const {
    return std::min(end_bytes - base_bytes, (cycle + 1) * cycle_bytes) + base_bytes;
}

Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                     std::int64_t cb_bytes, std::int64_t align_bytes, std::int64_t max_cycles) {
    assert(begin_bytes < end_bytes && num_aggregators > 0 && cb_bytes > 0 && align_bytes > 0 &&
           max_cycles > 0);
    Domains domains;
    // A collective buffer of whole stripes where it holds one at all; else a stripe is cut, and a cycle still never
    // reaches over a multiple of itself.
    domains.cycle_bytes = cb_bytes >= align_bytes ? cb_bytes / align_bytes * align_bytes : cb_bytes;
    domains.base_bytes = begin_bytes / domains.cycle_bytes * domains.cycle_bytes;
    if (align_bytes < domains.cycle_bytes) domains.base_bytes = begin_bytes / align_bytes * align_bytes;
    domains.begin_bytes = begin_bytes;
    // The end is compared by differences: base + max_cycles * cycle may lie beyond 2^63.
    const std::int64_t span = end_bytes - domains.base_bytes;
    const std::int64_t covered =
        max_cycles <= span / domains.cycle_bytes ? max_cycles * domains.cycle_bytes : span;
    domains.end_bytes = domains.base_bytes + covered;
    domains.num_cycles = (covered - 1) / domains.cycle_bytes + 1;
    domains.cycles_per_domain = (domains.num_cycles - 1) / num_aggregators + 1;
    domains.num_domains = static_cast<int>((domains.num_cycles - 1) / domains.cycles_per_domain + 1);
    return domains;
}

Domains divide(std::int64_t begin_bytes, std::int64_t end_bytes, const Division& division) {
    const std::int64_t span = end_bytes - begin_bytes;
    std::int64_t wanted = std::max(policy::smallest_cycle, span / division.num_aggregators / division.depth);
    if (division.are_short_cycles_wanted) wanted = std::min(wanted, policy::cached_cycle);
    wanted = std::min(wanted, division.cb_bytes);
    const std::int64_t cycle =
        std::min(division.cb_bytes,
                 (wanted + policy::smallest_cycle - 1) / policy::smallest_cycle * policy::smallest_cycle);
    // Domains::tag_of: of the cycles of one domain.
    const std::int64_t max_cycles_of_domain =
        std::max<std::int64_t>(1, division.highest_tag / division.num_nodes);
    const std::int64_t max_cycles =
        std::min<std::int64_t>(max_cycles_of_phase, max_cycles_of_domain * division.num_aggregators);
    return make_domains(begin_bytes, end_bytes, division.num_aggregators, cycle, division.align_bytes,
                        max_cycles);
}

std::vector<CyclePart> parts_of(const Region& region, const Domains& domains) {
    std::vector<CyclePart> parts;
    if (region.empty()) return parts;
    const std::int64_t lowest = std::max(region.begin_bytes(), domains.begin_bytes);
    const std::int64_t highest = std::min(region.end_bytes(), domains.end_bytes);
    if (lowest >= highest) return parts;
    const std::int64_t first = domains.cycle_of(lowest);
    const std::int64_t last = domains.cycle_of(highest - 1);
    std::int64_t stream_begin = region.bytes_below(domains.cycle_begin(first));
    for (std::int64_t cycle = first; cycle <= last; ++cycle) {
        const std::int64_t stream_end = region.bytes_below(domains.cycle_end(cycle));
        if (stream_end > stream_begin) parts.push_back({cycle, stream_begin, stream_end});
        stream_begin = stream_end;
    }
    std::stable_sort(parts.begin(), parts.end(), [&](const CyclePart& a, const CyclePart& b) {
        return a.cycle % domains.cycles_per_domain < b.cycle % domains.cycles_per_domain;
    });
    return parts;
}

std::vector<int> choose_aggregators(std::span<const std::vector<int>> ranks_of_node, int count,
                                    int per_node) {
    std::vector<int> num_of_node(ranks_of_node.size());
    int total = 0;
    int left = count > 0 ? count : per_node * static_cast<int>(ranks_of_node.size());
    // One a node, then a second a node, … until the count is reached or every rank aggregates.
    for (int round = 0; left > 0; ++round) {
        bool any = false;
        for (std::size_t n = 0; n < ranks_of_node.size() && left > 0; ++n) {
            if (round >= static_cast<int>(ranks_of_node[n].size())) continue;
            ++num_of_node[n];
            ++total;
            --left;
            any = true;
        }
        if (!any) break;
    }
    std::vector<int> aggregators;
    aggregators.reserve(static_cast<std::size_t>(total));
    for (std::size_t n = 0; n < ranks_of_node.size(); ++n) {
        const std::int64_t size = static_cast<std::int64_t>(ranks_of_node[n].size());
        for (std::int64_t i = 0; i < num_of_node[n]; ++i) {
            aggregators.push_back(ranks_of_node[n][static_cast<std::size_t>(i * size / num_of_node[n])]);
        }
    }
    return aggregators;
}

}  // namespace hakobi::io
