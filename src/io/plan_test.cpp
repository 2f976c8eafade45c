#include "io/plan.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <set>

#include "drawing.hpp"
#include "io/choice.hpp"
#include "io/request.hpp"
#include "units.hpp"

namespace hakobi::io {
namespace {

TEST(Domains, CyclesTileTheRangeInOrder) {
    Random random(1);
    for (int i = 0; i < 20000; ++i) {
        const std::int64_t begin = draw(random, 0, 100000);
        const std::int64_t end = begin + draw(random, 1, 100000);
        const std::int64_t align = std::int64_t{1} << draw(random, 0, 14);
        const Domains domains = make_domains(begin, end, static_cast<int>(draw(random, 1, 9)),
                                             draw(random, 1, 40000), align, 1 << 20);
        std::int64_t at = begin;
        for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
            ASSERT_EQ(domains.cycle_begin(cycle), at);
            ASSERT_GT(domains.cycle_end(cycle), at);
            ASSERT_LE(domains.cycle_end(cycle) - at, domains.cycle_bytes);
            ASSERT_EQ(domains.cycles_between(at, at + 1), std::pair(cycle, cycle + 1));
            ASSERT_LT(domains.domain_of(cycle), domains.num_domains);
            at = domains.cycle_end(cycle);
        }
        ASSERT_EQ(at, end);
    }
}

TEST(Domains, ACycleNeverCrossesAStripeThatItDoesNotOwnWhole) {
    Random random(2);
    for (int i = 0; i < 20000; ++i) {
        const std::int64_t stripe = std::int64_t{1} << draw(random, 6, 14);
        const std::int64_t cb = stripe * draw(random, 1, 5) + draw(random, 0, stripe - 1);
        const std::int64_t begin = draw(random, 0, 300000);
        const Domains domains = make_domains(begin, begin + draw(random, 1, 300000), 3, cb, stripe, 1 << 20);
        for (std::int64_t cycle = 1; cycle < domains.num_cycles; ++cycle) {
            ASSERT_EQ(domains.cycle_begin(cycle) % stripe, 0) << "stripe " << stripe << " cb " << cb;
        }
    }
}

TEST(Domains, APhaseEndsAtItsMostCyclesAlsoAtTheEndOfTheNumberRange) {
    const std::int64_t last = std::numeric_limits<std::int64_t>::max();
    const Domains domains = make_domains(5, last, 2, 1 << 20, 4096, 100);
    EXPECT_EQ(domains.num_cycles, 100);
    EXPECT_EQ(domains.end_bytes, 100 << 20);
    const Domains high = make_domains(last - 100, last, 2, 1 << 20, 4096, 100);
    EXPECT_EQ(high.end_bytes, last);
    EXPECT_EQ(high.cycle_end(high.num_cycles - 1), last);
}

TEST(Division, GivesEveryBufferSomethingToDoWhereThereIsLittle) {
    const Division division{.num_aggregators = 2,
                            .num_nodes = 2,
                            .cb_bytes = 4 * mib,
                            .depth = 8,
                            .align_bytes = 4096,
                            .highest_tag = 32767};
    EXPECT_EQ(divide(0, 1024 * mib, division).cycle_bytes, 4 * mib);
    EXPECT_EQ(divide(0, 32 * mib, division).cycle_bytes, 2 * mib);
    EXPECT_EQ(divide(0, 33 * mib, division).cycle_bytes, 2 * mib + mib / 4);
    EXPECT_EQ(divide(0, 1, division).cycle_bytes, mib / 4);
    Division in_memory = division;
    in_memory.most_cycle_bytes = mib;
    EXPECT_EQ(divide(0, 1024 * mib, in_memory).cycle_bytes, mib);
    in_memory.cb_bytes = mib / 2;
    EXPECT_EQ(divide(0, 1024 * mib, in_memory).cycle_bytes, mib / 2);
}

// Messages of other domains have other receivers: 2,047 cycles a phase for 1,024 aggregators left each two.
TEST(Division, TagsBoundTheCyclesOfADomainOnly) {
    const std::int64_t end_bytes = std::int64_t{1} << 50;
    Random random(7);
    for (int i = 0; i < 1000; ++i) {
        const Division division{.num_aggregators = static_cast<int>(draw(random, 1, 20000)),
                                .num_nodes = static_cast<int>(draw(random, 1, 20000)),
                                .cb_bytes = 4 * mib,
                                .depth = 8,
                                .align_bytes = 4096,
                                .highest_tag = (std::int64_t{1} << draw(random, 15, 31)) - 1};
        const Domains domains = divide(0, end_bytes, division);
        const std::int64_t last = std::min(domains.cycles_per_domain, domains.num_cycles) - 1;
        const std::int64_t highest = domains.tag_of(last, division.num_nodes - 1, division.num_nodes);
        EXPECT_LE(highest, division.highest_tag);
        EXPECT_TRUE(domains.num_cycles == max_cycles_of_phase ||
                    highest + division.num_nodes > division.highest_tag);
    }
}

TEST(Division, TagsBoundEachDomainByServer) {
    const auto divided = [](int num_nodes, int num_aggregators, int num_objects) {
        return divide(0, std::int64_t{1} << 40,
                      {.num_aggregators = num_aggregators,
                       .num_nodes = num_nodes,
                       .cb_bytes = 4 * mib,
                       .depth = 8,
                       .align_bytes = mib,
                       .highest_tag = (std::int64_t{1} << 21) - 1,
                       .stripe_bytes = mib,
                       .num_objects = num_objects});
    };
    for (const auto& [nodes, aggregators, objects] :
         {std::array{1, 16, 16}, {512, 16, 16}, {20000, 16, 16}, {20000, 7, 24}, {20000, 60, 24}}) {
        const Domains domains = divided(nodes, aggregators, objects);
        ASSERT_TRUE(domains.is_by_server());
        std::set<std::pair<int, std::int64_t>> tags;
        for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
            const std::int64_t tag = domains.tag_of(cycle, nodes - 1, nodes);
            EXPECT_LE(tag, (std::int64_t{1} << 21) - 1);
            EXPECT_TRUE(tags.emplace(domains.domain_of(cycle), tag).second) << cycle;
        }
    }
    // 104 tags a node: as many cycles for each of the aggregators.
    EXPECT_EQ(divided(20000, 16, 16).num_cycles, 16 * 104);
    EXPECT_EQ(divided(512, 16, 16).num_cycles, max_cycles_of_phase);
}

// A layer of a cube, which few nodes have, is in no round the only one.
TEST(Division, ByServerEachDomainBeginsElsewhere) {
    const Domains domains = divide(0, std::int64_t{1} << 30,
                                   {.num_aggregators = 4,
                                    .num_nodes = 4,
                                    .cb_bytes = 4 * mib,
                                    .depth = 8,
                                    .align_bytes = mib,
                                    .highest_tag = (std::int64_t{1} << 21) - 1,
                                    .stripe_bytes = mib,
                                    .num_objects = 8});
    ASSERT_EQ(domains.num_cycles, 1024);
    for (int d = 0; d < 4; ++d) {
        std::int64_t first = -1;
        domains.for_each_in_order([&](std::int64_t cycle) {
            if (first < 0 && domains.domain_of(cycle) == d) first = cycle;
        });
        EXPECT_EQ(first / 256, d);
    }
}

// A call of 1 TiB on 1,024 nodes, with an aggregator each, and 256 servers.
Division long_call(int num_nodes, std::int64_t size_bytes) {
    return {.num_aggregators = num_nodes,
            .num_nodes = num_nodes,
            .cb_bytes = 4 * mib,
            .depth = 6,
            .highest_tag = (1 << 21) - 1,
            .stripe_bytes = 4 * mib,
            .num_objects = 256,
            .num_lanes = 1,
            .size_bytes = size_bytes};
}

TEST(Division, PhasesOfALongCallByServerGoThroughItsWholeRange) {
    constexpr std::int64_t bytes = std::int64_t{1} << 40;
    std::int64_t num_cycles = 0;
    for (PhaseNumber phase; phase.number < phase.of; ++phase.number) {
        const Domains domains = divide(0, bytes, long_call(1024, bytes), phase.number);
        phase.of = domains.phase.of;
        num_cycles += domains.num_cycles;
        EXPECT_EQ(domains.end_bytes, bytes);
        EXPECT_LE(domains.num_cycles, max_cycles_of_phase);
        EXPECT_LT(domains.cycle_begin(0), bytes / 16);
        EXPECT_GT(domains.cycle_end(domains.num_cycles - 1), bytes / 16 * 15);
    }
    EXPECT_EQ(num_cycles, bytes / (4 * mib));
}

// Adds the phase's cycles to `begins`: none is there yet.
void add_begins(const Domains& domains, std::set<std::int64_t>& begins) {
    for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle)
        ASSERT_TRUE(begins.insert(domains.cycle_begin(cycle)).second) << cycle;
}

// Objects, stripes of several cycles and few tags in any number. In the first case a domain has many cycles
// more than its share, in the others a part may have fewer cycles than there are phases.
TEST(Division, PhasesOfARangeHaveEachCycleOnceAndATagForIt) {
    struct Case {
        int objects, aggregators;
        std::int64_t cycles_of_stripe, num_tags, num_cycles;
    };
    std::vector<Case> cases = {{58, 3, 16, 103, 5000}, {40, 1, 1, 81, 211}, {40, 1, 1, 82, 211}};
    Random random(11);
    for (int i = 0; i < 3000; ++i)
        cases.push_back({static_cast<int>(draw(random, 1, 64)), static_cast<int>(draw(random, 1, 40)),
                         draw(random, 1, 16), draw(random, 1, 400), draw(random, 1, 5000)});
    constexpr std::int64_t cycle_bytes = 4 * kib;
    int num_of_several = 0;
    for (const Case& of : cases) {
        const std::int64_t begin = draw(random, 0, 40 * cycle_bytes);
        const std::int64_t end = begin + of.num_cycles * cycle_bytes - draw(random, 0, cycle_bytes - 1);
        const Division division{.num_aggregators = of.aggregators,
                                .num_nodes = 2,
                                .cb_bytes = cycle_bytes,
                                .highest_tag = 2 * of.num_tags + 1,
                                .smallest_cycle_bytes = cycle_bytes,
                                .stripe_bytes = of.cycles_of_stripe * cycle_bytes,
                                .num_objects = of.objects,
                                .size_bytes = end - begin};
        std::set<std::int64_t> begins;
        std::int64_t number = 0, at = begin;
        while (at < end) {
            const Domains domains = divide(at, end, division, number);
            ASSERT_GT(domains.num_cycles, 0);
            ASSERT_LE(domains.num_cycles, max_cycles_of_phase);
            ASSERT_LE(domains.cycles_per_domain, of.num_tags)
                << of.objects << " " << of.aggregators << " " << of.cycles_of_stripe << " " << of.num_cycles;
            add_begins(domains, begins);
            num_of_several += domains.phase.number == 1 ? 1 : 0;
            number = domains.phase.is_last() ? 0 : number + 1;
            if (number == 0) at = domains.end_bytes;
        }
        ASSERT_EQ(std::ssize(begins), (end - 1) / cycle_bytes - begin / cycle_bytes + 1);
    }
    EXPECT_GT(num_of_several, 300);
}

// The storage turns out to serve from memory, and a rank has nothing left: another division, with other
// phases.
TEST(Division, PhasesOfARangeKeepTheTotalsOfTheFirst) {
    constexpr std::int64_t bytes = std::int64_t{1} << 40;
    Progress progress;
    std::set<std::int64_t> begins;
    RequestTotals latest{.end_bytes = bytes, .size_bytes = bytes};
    for (bool is_last = false; !is_last; ++progress.num_phases_of_range) {
        const RequestTotals& totals = progress.of_range(latest);
        Division division = long_call(1024, totals.size_bytes);
        division.most_cycle_bytes = most_cycle_bytes(totals);
        const Domains domains =
            divide(totals.begin_bytes, totals.end_bytes, division, progress.num_phases_of_range);
        ASSERT_EQ(domains.phase.number, progress.num_phases_of_range);
        add_begins(domains, begins);
        is_last = domains.phase.is_last();
        latest = {.end_bytes = bytes / 4, .size_bytes = bytes / 16, .service = Service::from_memory};
    }
    EXPECT_EQ(std::ssize(begins), bytes / (4 * mib));
    progress.num_phases_of_range = 0;
    EXPECT_EQ(progress.of_range(latest), latest);
}

// Few bytes in a long range: a phase ends where the next data are looked for. One node has no network.
TEST(Division, PhasesOfSparseCallsAndOfOneNodeFollowEachOther) {
    constexpr std::int64_t bytes = std::int64_t{1} << 40;
    for (const Division& division : {long_call(1024, bytes / 3), long_call(1, bytes)}) {
        const Domains domains = divide(0, bytes, division);
        EXPECT_TRUE(domains.phase.is_last());
        EXPECT_EQ(domains.end_bytes, domains.num_cycles * 4 * mib);
    }
}

TEST(CycleParts, CoverTheRegionOnceAndGoRoundTheDomains) {
    Random random(3);
    for (int i = 0; i < 3000; ++i) {
        const Region region =
            Region::strided(draw(random, 0, 5000), draw(random, 1, 60), draw(random, 100, 4000),
                            Region::contiguous(0, draw(random, 1, 100)));
        const Domains domains =
            make_domains(draw(random, 0, region.begin_bytes()), region.end_bytes(),
                         static_cast<int>(draw(random, 1, 5)), draw(random, 500, 9000), 1, 1 << 20);
        std::int64_t bytes = 0;
        std::int64_t turn = 0;
        std::set<std::int64_t> cycles;
        for (const CyclePart& part : parts_of(region, domains)) {
            EXPECT_TRUE(cycles.insert(part.cycle).second);
            EXPECT_EQ(part.stream_begin, region.bytes_below(domains.cycle_begin(part.cycle)));
            EXPECT_EQ(part.stream_end, region.bytes_below(domains.cycle_end(part.cycle)));
            EXPECT_GE(part.cycle % domains.cycles_per_domain, turn);
            turn = part.cycle % domains.cycles_per_domain;
            bytes += part.stream_end - part.stream_begin;
        }
        ASSERT_EQ(bytes, region.size_bytes());
    }
}

TEST(Aggregators, AreSpreadOverNodesFirstAndWithinEachThen) {
    const std::vector<std::vector<int>> nodes{{0, 1, 2, 3}, {4, 5}, {6, 7, 8, 9}};
    EXPECT_EQ(choose_aggregators(nodes, 0, 1), (std::vector<int>{0, 4, 6}));
    EXPECT_EQ(choose_aggregators(nodes, 2, 1), (std::vector<int>{0, 4}));
    EXPECT_EQ(choose_aggregators(nodes, 0, 2), (std::vector<int>{0, 2, 4, 5, 6, 8}));
    EXPECT_EQ(choose_aggregators(nodes, 100, 1).size(), 10u);
}

}  // namespace
}  // namespace hakobi::io
