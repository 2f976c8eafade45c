#include "io/plan.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <numeric>

namespace hakobi::io {

std::int64_t Domains::cycle_begin(std::int64_t cycle) const {
    return std::max(begin_bytes, unclipped_begin(cycle));
}
std::int64_t Domains::cycle_end(std::int64_t cycle) const {
    const std::int64_t begin = unclipped_begin(cycle);
    return begin + std::min(end_bytes - begin, cycle_bytes);
}

std::pair<std::int64_t, std::int64_t> Domains::cycles_between(std::int64_t lowest,
                                                              std::int64_t highest) const {
    if (begins.empty())
        return {(lowest - base_bytes) / cycle_bytes, (highest - 1 - base_bytes) / cycle_bytes + 1};
    std::int64_t first = std::ranges::upper_bound(begins, lowest) - begins.begin();
    if (first > 0 && cycle_end(first - 1) > lowest) --first;
    return {first, std::ranges::lower_bound(begins, highest) - begins.begin()};
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

namespace {

/// One domain's cycles of one object, in the file's order.
struct ObjectPart {
    std::int32_t domain = 0, object = 0, lane = 0;
    std::int64_t num_cycles = 0;
    std::int64_t first_stripe = 0;  ///< of the file
    std::int64_t num_skipped = 0;   ///< cycles of that stripe which lie before the range
};

/// A range of a file with stripes, dealt to the aggregators.
class Dealt {
  public:
    /// `domains`: contiguous ones of the range.
    Dealt(const Domains& domains, int num_aggregators, const StripedPlan& striped)
        : aggregators_(num_aggregators),
          objects_(striped.num_objects),
          cycles_of_stripe_(striped.stripe_bytes / striped.cycle_bytes),
          num_lanes_(striped.num_lanes),
          first_cycle_(domains.base_bytes / striped.cycle_bytes),
          num_cycles_(domains.num_cycles),
          first_stripe_(domains.base_bytes / striped.stripe_bytes),
          num_stripes_((first_cycle_ + num_cycles_ - 1) / cycles_of_stripe_ - first_stripe_ + 1) {
        for (std::int64_t d = 0; d < aggregators_; ++d)
            for (std::int64_t o = d * objects_ / aggregators_; o * aggregators_ < (d + 1) * objects_; ++o)
                add(d, o);
    }

    [[nodiscard]] const std::vector<ObjectPart>& parts() const { return parts_; }
    /// The cycle of a part that its domain works on first: each begins elsewhere in the range, since a file's
    /// neighbouring parts are on few nodes, whose network would be the limit.
    [[nodiscard]] std::int64_t first_of(const ObjectPart& part) const {
        return part.domain * part.num_cycles / aggregators_;
    }
    /// The number in the range of a part's n-th cycle.
    [[nodiscard]] std::int64_t cycle_of(const ObjectPart& part, std::int64_t n) const {
        const std::int64_t at = n + part.num_skipped;
        const std::int64_t stripe = part.first_stripe + at / cycles_of_stripe_ * objects_;
        return stripe * cycles_of_stripe_ + at % cycles_of_stripe_ - first_cycle_;
    }

  private:
    void add(std::int64_t domain, std::int64_t object) {
        const std::int64_t own_first = (object - first_stripe_ % objects_ + objects_) % objects_;
        if (own_first >= num_stripes_) return;
        const std::int64_t num = (num_stripes_ - own_first - 1) / objects_ + 1;
        // Domain d ends at (d + 1) * objects / aggregators.
        const auto cut = [&](std::int64_t d) {
            const std::int64_t end_object = d * objects_ / aggregators_;
            if (end_object > object) return num;
            return end_object < object ? 0 : num * (d * objects_ % aggregators_) / aggregators_;
        };
        const std::int64_t begin = cut(domain), end = cut(domain + 1);
        if (begin == end) return;
        ObjectPart part;
        part.domain = static_cast<std::int32_t>(domain);
        part.object = static_cast<std::int32_t>(object);
        part.lane = static_cast<std::int32_t>((object - domain * objects_ / aggregators_) % num_lanes_);
        part.first_stripe = first_stripe_ + own_first + begin * objects_;
        part.num_skipped = std::max<std::int64_t>(0, first_cycle_ - part.first_stripe * cycles_of_stripe_);
        const std::int64_t last_stripe = part.first_stripe + (end - begin - 1) * objects_;
        const std::int64_t behind =
            std::max<std::int64_t>(0, (last_stripe + 1) * cycles_of_stripe_ - first_cycle_ - num_cycles_);
        part.num_cycles = (end - begin) * cycles_of_stripe_ - part.num_skipped - behind;
        parts_.push_back(part);
    }

    std::int64_t aggregators_, objects_, cycles_of_stripe_, num_lanes_;
    std::int64_t first_cycle_, num_cycles_, first_stripe_, num_stripes_;
    std::vector<ObjectPart> parts_;
};

/// The cycles of a phase: of each part the same share.
void place_phase(const Dealt& dealt, const PhaseNumber& phase, Domains& domains) {
    struct Placed {
        std::int64_t cycle;
        Domains::Place place;
    };
    std::vector<Placed> placed;
    for (const ObjectPart& part : dealt.parts()) {
        const std::int64_t num = part.num_cycles, first = dealt.first_of(part);
        const std::int64_t begin = phase.number * num / phase.of, end = (phase.number + 1) * num / phase.of;
        for (std::int64_t n = begin; n < end; ++n)
            placed.push_back({dealt.cycle_of(part, (first + n) % num),
                              {.domain = part.domain,
                               .lane = part.lane,
                               .object = part.object,
                               .round = static_cast<std::int32_t>(n - begin)}});
    }
    assert(!placed.empty());
    const bool is_whole = std::ssize(placed) == domains.num_cycles;
    const std::int64_t base_bytes = domains.base_bytes;
    domains.places.resize(placed.size());
    if (is_whole) {
        for (const Placed& each : placed) domains.places[static_cast<std::size_t>(each.cycle)] = each.place;
        return;
    }
    std::ranges::sort(placed, {}, &Placed::cycle);
    domains.num_cycles = std::ssize(placed);
    domains.begins.resize(placed.size());
    for (std::size_t i = 0; i < placed.size(); ++i) {
        domains.places[i] = placed[i].place;
        domains.begins[i] = base_bytes + placed[i].cycle * domains.cycle_bytes;
    }
}

/// Orders the cycles by round, and numbers those of each domain.
void order_by_round(Domains& domains, int num_aggregators) {
    const std::int64_t num_rounds = std::ranges::max(domains.places, {}, &Domains::Place::round).round + 1;
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
    std::vector<std::int32_t> num_of_domain(static_cast<std::size_t>(num_aggregators));
    for (const std::int32_t cycle : domains.order) {
        Domains::Place& place = domains.places[static_cast<std::size_t>(cycle)];
        place.number = num_of_domain[static_cast<std::size_t>(place.domain)]++;
    }
    domains.cycles_per_domain = *std::ranges::max_element(num_of_domain);
}

}  // namespace

Domains make_domains(std::int64_t begin_bytes, std::int64_t end_bytes, int num_aggregators,
                     const StripedPlan& striped, std::int64_t max_cycles, PhaseNumber phase) {
    Domains domains = make_domains(begin_bytes, end_bytes, num_aggregators, striped.cycle_bytes,
                                   striped.cycle_bytes, max_cycles);
    const Dealt dealt(domains, num_aggregators, striped);
    domains.num_domains = num_aggregators;
    domains.num_lanes = striped.num_lanes;
    domains.phase = phase;
    place_phase(dealt, phase, domains);
    order_by_round(domains, num_aggregators);
    return domains;
}

namespace {

/// The phases of a call by server of which each goes through the whole range, with `num_cycles` in all: none
/// where few of them have more cycles than a phase may, or than there are tags for, or one might be empty.
std::optional<std::int64_t> phases_of_range(std::int64_t num_cycles, std::int64_t cycles_of_stripe,
                                            const Division& division, std::int64_t num_tags) {
    const std::int64_t objects = division.num_objects, aggregators = division.num_aggregators;
    // Each part's share of a phase is rounded up.
    const std::int64_t parts = objects + aggregators - std::gcd(objects, aggregators);
    if (2 * parts > max_cycles_of_phase) return std::nullopt;
    // A domain has more than its share: of whole stripes, and of objects that have one more than others.
    const std::int64_t excess =
        (most_objects_of_domain(division.num_objects, division.num_aggregators) + 1) * cycles_of_stripe;
    if (2 * excess > num_tags) return std::nullopt;
    const std::int64_t most_of_domain = (num_cycles - 1) / aggregators + 1 + excess;
    const std::int64_t of = std::max((num_cycles - 1) / (max_cycles_of_phase - parts),
                                     (most_of_domain - 1) / (num_tags - excess)) +
                            1;
    // The longest part has a cycle for each.
    if (of > (num_cycles - 1) / parts + 1) return std::nullopt;
    return of;
}

}  // namespace

Domains divide(std::int64_t begin_bytes, std::int64_t end_bytes, const Division& division,
               std::int64_t number) {
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
    const std::int64_t num_cycles =
        (end_bytes - 1) / striped.cycle_bytes - begin_bytes / striped.cycle_bytes + 1;
    if (num_cycles > max_cycles && division.num_nodes > 1 && division.size_bytes >= span / 2) {
        constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
        const std::int64_t cycles_of_stripe = striped.stripe_bytes / striped.cycle_bytes;
        if (const auto of = phases_of_range(num_cycles, cycles_of_stripe, division, num_tags)) {
            Domains domains =
                make_domains(begin_bytes, end_bytes, division.num_aggregators, striped, all, {number, *of});
            assert(domains.num_cycles <= max_cycles_of_phase && domains.cycles_per_domain <= num_tags);
            return domains;
        }
    }
    for (;;) {
        Domains domains = make_domains(begin_bytes, end_bytes, division.num_aggregators, striped, max_cycles);
        if (domains.cycles_per_domain <= num_tags) return domains;
        // Objects are not shared evenly: fewer cycles, until those of the fullest domain have a tag each.
        max_cycles = std::max<std::int64_t>(
            1, std::min(max_cycles, domains.num_cycles) * num_tags / domains.cycles_per_domain);
    }
}

CycleStreams::CycleStreams(const Region& region, const Domains& domains)
    : region_(region), domains_(domains) {
    if (region.empty()) return;
    const std::int64_t lowest = std::max(region.begin_bytes(), domains.begin_bytes);
    const std::int64_t highest = std::min(region.end_bytes(), domains.end_bytes);
    if (lowest >= highest) return;
    const auto [first, end] = domains.cycles_between(lowest, highest);
    cycle_ = first;
    end_cycle_ = end;
}

std::optional<CyclePart> CycleStreams::next() {
    while (cycle_ < end_cycle_) {
        const std::int64_t cycle = cycle_++, begin = domains_.cycle_begin(cycle);
        if (begin != known_at_) known_below_ = region_.bytes_below(begin);
        const std::int64_t stream_begin = known_below_;
        known_at_ = domains_.cycle_end(cycle);
        known_below_ = region_.bytes_below(known_at_);
        if (known_below_ > stream_begin) return CyclePart{cycle, stream_begin, known_below_};
    }
    return std::nullopt;
}

std::vector<CyclePart> parts_of(const Region& region, const Domains& domains) {
    std::vector<CyclePart> parts;
    CycleStreams streams(region, domains);
    while (const std::optional<CyclePart> part = streams.next()) parts.push_back(*part);
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
