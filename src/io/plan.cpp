#include "io/plan.hpp"

#include <algorithm>
#include <cassert>

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
    // A collective buffer of whole stripes where it holds one at all; else a stripe is cut, and a cycle still
    // never reaches over a multiple of itself.
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

int most_objects_of_domain(int num_objects, int num_aggregators) {
    const std::int64_t objects = num_objects, aggregators = num_aggregators;
    int most = 1;
    for (std::int64_t d = 0; d < aggregators; ++d) {
        const std::int64_t first = d * objects / aggregators, last = ((d + 1) * objects - 1) / aggregators;
        most = std::max(most, static_cast<int>(last - first + 1));
    }
    return most;
}

std::int64_t cycle_of_stripe(std::int64_t stripe_bytes, std::int64_t cb_bytes) {
    constexpr std::int64_t page_bytes = 4096;
    if (stripe_bytes <= 0 || cb_bytes < page_bytes) return 0;
    // Stripes have few divisors that are too small: of a multiple of 64 KiB the 16th part is always whole
    // pages.
    for (std::int64_t parts = (stripe_bytes - 1) / cb_bytes + 1; stripe_bytes / parts >= page_bytes; ++parts)
        if (stripe_bytes % (parts * page_bytes) == 0) return stripe_bytes / parts;
    return 0;
}

Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                     const StripedPlan& striped, std::int64_t max_cycles) {
    Domains domains = make_domains(begin_bytes, end_bytes, num_aggregators, striped.cycle_bytes,
                                   striped.cycle_bytes, max_cycles);
    const std::int64_t objects = striped.num_objects, aggregators = num_aggregators;
    const std::int64_t cycles_of_stripe = striped.stripe_bytes / striped.cycle_bytes;
    const std::int64_t first_stripe = domains.base_bytes / striped.stripe_bytes;
    const std::int64_t first_cycle = domains.base_bytes / striped.cycle_bytes;
    const std::int64_t num_stripes =
        (first_cycle + domains.num_cycles - 1) / cycles_of_stripe - first_stripe + 1;
    domains.num_domains = num_aggregators;
    domains.num_lanes = striped.num_lanes;
    domains.places.resize(static_cast<std::size_t>(domains.num_cycles));
    struct Latest {
        std::int64_t domain = -1;
        std::int32_t num_cycles = 0;
    };
    std::vector<Latest> latest(static_cast<std::size_t>(objects));
    std::int64_t num_rounds = 0;
    for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
        const std::int64_t stripe = (first_cycle + cycle) / cycles_of_stripe;
        const std::int64_t object = stripe % objects;
        // The number of this stripe among the object's stripes in the phase, and how many those are.
        const std::int64_t before = (stripe - first_stripe) / objects;
        const std::int64_t own_first = (object - first_stripe % objects + objects) % objects;
        const std::int64_t num = (num_stripes - own_first - 1) / objects + 1;
        // The first domain whose end, at (d + 1) * objects / aggregators, lies behind it.
        std::int64_t domain = object * aggregators / objects;
        const auto end_of = [&](std::int64_t d) {
            const std::int64_t end_object = (d + 1) * objects / aggregators;
            if (end_object > object) return num;
            return end_object < object ? 0 : num * ((d + 1) * objects % aggregators) / aggregators;
        };
        while (end_of(domain) <= before) ++domain;
        Domains::Place& place = domains.places[static_cast<std::size_t>(cycle)];
        place.domain = static_cast<std::int32_t>(domain);
        place.object = static_cast<std::int32_t>(object);
        place.lane = static_cast<std::int32_t>((object - domain * objects / aggregators) % striped.num_lanes);
        Latest& of_object = latest[static_cast<std::size_t>(object)];
        if (of_object.domain != domain) of_object = {domain, 0};
        place.round = of_object.num_cycles++;
        num_rounds = std::max<std::int64_t>(num_rounds, of_object.num_cycles);
    }
    // Each domain begins elsewhere in the range: a file's neighbouring parts are on few nodes, whose network
    // would be the limit.
    for (Domains::Place& place : domains.places) {
        const std::int64_t first = place.domain * num_rounds / aggregators;
        place.round = static_cast<std::int32_t>((place.round - first + num_rounds) % num_rounds);
    }
    // By counting: a round's cycles in the file's order.
    std::vector<std::int32_t> begin_of_round(static_cast<std::size_t>(num_rounds) + 1);
    for (const Domains::Place& place : domains.places)
        ++begin_of_round[static_cast<std::size_t>(place.round) + 1];
    for (std::size_t r = 1; r < begin_of_round.size(); ++r) begin_of_round[r] += begin_of_round[r - 1];
    domains.order.resize(domains.places.size());
    for (std::size_t cycle = 0; cycle < domains.places.size(); ++cycle) {
        std::int32_t& at = begin_of_round[static_cast<std::size_t>(domains.places[cycle].round)];
        domains.order[static_cast<std::size_t>(at++)] = static_cast<std::int32_t>(cycle);
    }
    std::vector<std::int32_t> num_of_domain(static_cast<std::size_t>(aggregators));
    for (const std::int32_t cycle : domains.order) {
        Domains::Place& place = domains.places[static_cast<std::size_t>(cycle)];
        place.number = num_of_domain[static_cast<std::size_t>(place.domain)]++;
    }
    domains.cycles_per_domain = *std::ranges::max_element(num_of_domain);
    return domains;
}

Domains divide(std::int64_t begin_bytes, std::int64_t end_bytes, const Division& division) {
    const std::int64_t span = end_bytes - begin_bytes;
    std::int64_t wanted =
        std::max(division.smallest_cycle_bytes, span / division.num_aggregators / division.depth);
    if (division.most_cycle_bytes > 0) wanted = std::min(wanted, division.most_cycle_bytes);
    wanted = std::min(wanted, division.cb_bytes);
    const std::int64_t cycle =
        std::min(division.cb_bytes, (wanted + division.smallest_cycle_bytes - 1) /
                                        division.smallest_cycle_bytes * division.smallest_cycle_bytes);
    const std::int64_t num_tags = std::max<std::int64_t>(1, division.highest_tag / division.num_nodes);
    std::int64_t max_cycles =
        std::min<std::int64_t>(max_cycles_of_phase, num_tags * division.num_aggregators);
    if (division.num_objects == 0) {
        return make_domains(begin_bytes, end_bytes, division.num_aggregators, cycle, division.align_bytes,
                            max_cycles);
    }
    const StripedPlan striped{division.stripe_bytes, division.num_objects,
                              cycle_of_stripe(division.stripe_bytes, cycle), division.num_lanes};
    for (;;) {
        Domains domains = make_domains(begin_bytes, end_bytes, division.num_aggregators, striped, max_cycles);
        if (domains.cycles_per_domain <= num_tags) return domains;
        // Objects are not shared evenly: fewer cycles, until those of the fullest domain have a tag each.
        max_cycles = std::max<std::int64_t>(
            1, std::min(max_cycles, domains.num_cycles) * num_tags / domains.cycles_per_domain);
    }
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
        return domains.round_of(a.cycle) < domains.round_of(b.cycle);
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
