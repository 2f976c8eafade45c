#include "io/striping.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "drawing.hpp"
#include "io/policy.hpp"
#include "units.hpp"

namespace hakobi::io {
namespace {

struct Shares {
    std::map<int, std::set<int>> domains_of_object, objects_of_domain;
    std::vector<std::int64_t> bytes_of_domain;
};
Shares shares_of(const Domains& domains) {
    Shares shares;
    shares.bytes_of_domain.resize(static_cast<std::size_t>(domains.num_domains));
    for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
        const int domain = domains.domain_of(cycle), object = domains.object_of(cycle);
        shares.domains_of_object[object].insert(domain);
        shares.objects_of_domain[domain].insert(object);
        shares.bytes_of_domain[static_cast<std::size_t>(domain)] +=
            domains.cycle_end(cycle) - domains.cycle_begin(cycle);
    }
    return shares;
}

TEST(DomainsByServer, CyclesTileTheRangeWithinStripes) {
    Random random(1);
    for (int i = 0; i < 3000; ++i) {
        const std::int64_t parts = draw(random, 1, 4), cycle_bytes = 4096 * draw(random, 1, 8);
        const StripedPlan striped{parts * cycle_bytes, static_cast<int>(draw(random, 1, 20)), cycle_bytes,
                                  static_cast<int>(draw(random, 1, 5))};
        const std::int64_t begin = draw(random, 0, 3'000'000), end = begin + draw(random, 1, 3'000'000);
        const Domains domains =
            make_domains(begin, end, static_cast<int>(draw(random, 1, 24)), striped, draw(random, 1, 1000));
        std::int64_t at = begin;
        for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
            ASSERT_EQ(domains.cycle_begin(cycle), at);
            at = domains.cycle_end(cycle);
            ASSERT_EQ(domains.cycle_begin(cycle) / striped.stripe_bytes, (at - 1) / striped.stripe_bytes);
            ASSERT_EQ(domains.object_of(cycle),
                      domains.cycle_begin(cycle) / striped.stripe_bytes % striped.num_objects);
            ASSERT_LT(domains.domain_of(cycle), domains.num_domains);
            ASSERT_LT(domains.lane_of(cycle), domains.num_lanes);
        }
        ASSERT_EQ(at, domains.end_bytes);
        ASSERT_LE(at, end);
    }
}

// A row: how many objects on how many aggregators; how many aggregators write an object and objects an
// aggregator has, at most.
struct Row {
    int objects, aggregators, writers, objects_of_one;
};
class EveryServer : public testing::TestWithParam<Row> {};

TEST_P(EveryServer, HasFewAggregatorsWithEqualParts) {
    const Row& row = GetParam();
    const StripedPlan striped{mib, row.objects, mib, 1};
    const std::int64_t rows = 24;  // a multiple of what is shared
    const Domains domains = make_domains(0, rows * row.objects * mib, row.aggregators, striped, 4096);
    const Shares shares = shares_of(domains);
    for (const auto& [object, writers] : shares.domains_of_object)
        EXPECT_LE(std::ssize(writers), row.writers) << "object " << object;
    for (const auto& [domain, objects] : shares.objects_of_domain)
        EXPECT_LE(std::ssize(objects), row.objects_of_one) << "domain " << domain;
    EXPECT_EQ(most_objects_of_domain(row.objects, row.aggregators), row.objects_of_one);
    const auto [least, most] = std::ranges::minmax(shares.bytes_of_domain);
    EXPECT_LE(most - least, mib) << "aggregators have unequal parts";
}

INSTANTIATE_TEST_SUITE_P(Of, EveryServer,
                         testing::Values(Row{16, 8, 1, 2}, Row{16, 16, 1, 1}, Row{16, 1, 1, 16},
                                         Row{8, 16, 2, 1}, Row{4, 16, 4, 1}, Row{4, 3, 2, 2}, Row{3, 4, 2, 2},
                                         Row{16, 7, 2, 4}, Row{5, 3, 2, 3}, Row{2, 3, 2, 2}, Row{1, 4, 4, 1},
                                         Row{64, 1, 1, 64}),
                         [](const auto& one) {
                             return std::to_string(one.param.objects) + "ObjectsOn" +
                                    std::to_string(one.param.aggregators);
                         });

TEST(DomainsByServer, AServerKeepsItsAggregatorFromCallToCall) {
    const StripedPlan striped{mib, 12, mib, 2};
    Random random(2);
    std::map<int, int> domain_of_object;
    for (int i = 0; i < 200; ++i) {
        const std::int64_t begin = draw(random, 0, gib);
        const Domains domains = make_domains(begin, begin + draw(random, 1, 100 * mib), 4, striped, 4096);
        for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
            const auto [known, is_new] =
                domain_of_object.try_emplace(domains.object_of(cycle), domains.domain_of(cycle));
            ASSERT_EQ(known->second, domains.domain_of(cycle));
        }
    }
}

TEST(DomainsByServer, AggregatorsOfOneServerHaveAContiguousPartOfItEach) {
    const Domains domains = make_domains(0, 64 * mib, 8, StripedPlan{mib, 2, mib, 1}, 4096);
    std::map<int, std::int64_t> last_of_domain;
    int domain_before[2] = {-1, -1};
    for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
        int& before = domain_before[domains.object_of(cycle)];
        EXPECT_GE(domains.domain_of(cycle), before);
        before = domains.domain_of(cycle);
    }
}

TEST(DomainsByServer, EachRoundHasACycleOfEveryServerOfEveryAggregator) {
    const Domains domains = make_domains(0, 160 * mib, 4, StripedPlan{mib, 16, mib, 4}, 4096);
    std::vector<std::int64_t> rounds;
    std::set<int> servers;
    domains.for_each_in_order([&](std::int64_t cycle) {
        if (!rounds.empty() && domains.round_of(cycle) != rounds.back()) {
            EXPECT_EQ(servers.size(), 16U);
            servers.clear();
        }
        EXPECT_TRUE(servers.insert(domains.object_of(cycle)).second) << "a server twice in a round";
        rounds.push_back(domains.round_of(cycle));
    });
    EXPECT_TRUE(std::ranges::is_sorted(rounds));
    EXPECT_EQ(std::ssize(rounds), domains.num_cycles);
}

// Phases that go through the whole range: together they are the one phase that it would be without a limit.
TEST(DomainsByServer, PhasesOfARangeShareEachDomainsCycles) {
    Random random(4);
    for (int i = 0; i < 60; ++i) {
        const int aggregators = static_cast<int>(draw(random, 1, 20));
        const StripedPlan striped{4096 * draw(random, 1, 3), static_cast<int>(draw(random, 2, 12)), 4096, 2};
        const std::int64_t begin = draw(random, 0, 100000), end = begin + draw(random, 2000000, 4000000);
        const Domains whole = make_domains(begin, end, aggregators, striped, 1 << 30);
        const std::int64_t of = draw(random, 2, 7);
        std::map<std::int64_t, std::pair<int, int>> owners;  // domain and object, by the cycle's begin
        for (std::int64_t number = 0; number < of; ++number) {
            const Domains domains =
                make_domains(begin, end, aggregators, striped, 1 << 30, PhaseNumber{number, of});
            std::set<std::pair<int, std::int64_t>> tags;
            std::int64_t behind = begin;
            for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
                const std::int64_t at = domains.cycle_begin(cycle), last = domains.cycle_end(cycle) - 1;
                ASSERT_GE(at, behind);
                behind = last + 1;
                ASSERT_EQ(domains.cycles_between(at, at + 1), std::pair(cycle, cycle + 1));
                ASSERT_EQ(domains.cycles_between(last, end).first, cycle);
                ASSERT_EQ(domains.cycles_between(begin, last).second,
                          last > at || at == begin ? cycle + 1 : cycle);
                owners[at] = {domains.domain_of(cycle), domains.object_of(cycle)};
                ASSERT_TRUE(tags.emplace(domains.domain_of(cycle), domains.tag_of(cycle, 0, 1)).second);
            }
            ASSERT_LE(domains.num_cycles, whole.num_cycles / of + striped.num_objects + aggregators);
            const Shares shares = shares_of(domains), all = shares_of(whole);
            for (std::size_t d = 0; d < all.bytes_of_domain.size(); ++d) {
                const auto objects =
                    static_cast<std::int64_t>(all.objects_of_domain.contains(static_cast<int>(d))
                                                  ? all.objects_of_domain.at(static_cast<int>(d)).size()
                                                  : 0);
                ASSERT_LE(shares.bytes_of_domain[d], all.bytes_of_domain[d] / of + 2 * objects * 4096);
            }
        }
        ASSERT_EQ(std::ssize(owners), whole.num_cycles);
        for (std::int64_t cycle = 0; cycle < whole.num_cycles; ++cycle)
            ASSERT_EQ(owners.at(whole.cycle_begin(cycle)),
                      std::pair(whole.domain_of(cycle), whole.object_of(cycle)));
    }
}

TEST(DomainsByServer, ReachTheEndOfTheNumberRange) {
    const std::int64_t last = std::numeric_limits<std::int64_t>::max();
    const Domains domains = make_domains(last - 5 * mib, last, 3, StripedPlan{mib, 4, mib, 1}, 4096);
    EXPECT_EQ(domains.end_bytes, last);
    EXPECT_EQ(domains.cycle_end(domains.num_cycles - 1), last);
}

TEST(Striping, ACycleIsAWholePartOfAStripe) {
    EXPECT_EQ(cycle_of_stripe(mib, 4 * mib), mib);
    EXPECT_EQ(cycle_of_stripe(4 * mib, 4 * mib), 4 * mib);
    EXPECT_EQ(cycle_of_stripe(6 * mib, 4 * mib), 3 * mib);
    EXPECT_EQ(cycle_of_stripe(gib, 4 * mib), 4 * mib);
    EXPECT_EQ(cycle_of_stripe(7 * 64 * kib, 256 * kib), 7 * 32 * kib);
    EXPECT_EQ(cycle_of_stripe(13 * 64 * kib, 4 * mib), 13 * 64 * kib);
    EXPECT_EQ(cycle_of_stripe(1000, 4 * mib), 0) << "no whole pages";
    EXPECT_EQ(cycle_of_stripe(mib, 100), 0);
}

TEST(Striping, FineStripesAndOneServerHaveContiguousDomains) {
    EXPECT_TRUE(can_go_by_server({mib, 4, 4}, 4 * mib));
    EXPECT_TRUE(can_go_by_server({256 * kib, 4, 4}, 4 * mib));
    EXPECT_FALSE(can_go_by_server({64 * kib, 4, 4}, 4 * mib));
    EXPECT_FALSE(can_go_by_server({mib, 1, 1}, 4 * mib));
    EXPECT_FALSE(can_go_by_server({mib, 4, 4}, 64 * kib)) << "buffers of less than a request";
    EXPECT_FALSE(can_go_by_server({}, 4 * mib));
}

TEST(Striping, NodesHaveAggregatorsForTheServers) {
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 8, 8), 8);
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 1, 8), 2);
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 1, 1), 1) << "no more than ranks";
    EXPECT_EQ(aggregators_of({mib, 400, 400}, 2, 64), 8) << "no more than four a node";
    EXPECT_EQ(aggregators_of({mib, 2, 2}, 100, 8), 8) << "no more than four a server";
    EXPECT_EQ(aggregators_of({mib, 8, 2}, 100, 8), 8) << "overstriped: two servers";
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 20, 8), 16) << "one a server rather than odd parts of two";
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 24, 8), 24) << "too many nodes would have none";
    EXPECT_EQ(aggregators_of({mib, 16, 16}, 35, 8), 32);
}

TEST(Striping, RequestsInFlightAreBoundedForEachServer) {
    EXPECT_EQ(server_requests_of({mib, 16, 16}, 8, 0), 4);
    EXPECT_EQ(server_requests_of({mib, 4, 4}, 16, 0), 4) << "of each of four aggregators";
    EXPECT_EQ(server_requests_of({mib, 4, 4}, 16, 8), 2) << "of all four together, where it is asked for";
    EXPECT_EQ(server_requests_of({mib, 16, 16}, 8, 6), 6);
    EXPECT_EQ(striped_threads_of({mib, 16, 16}, 8, 4), 8);
    EXPECT_EQ(striped_threads_of({mib, 16, 16}, 16, 2), 4);
    EXPECT_EQ(striped_threads_of({mib, 400, 400}, 8, 4), policy_limits::most_striped_threads);
}

TEST(Striping, RingsFillTheMemoryThatThereIs) {
    NodeBuffers buffers;
    buffers.cb_bytes = 4 * mib;
    buffers.depth = 8;
    for (const int objects : {2, 3, 16, 64, 400}) {
        for (const std::int64_t stripe : {mib, 3 * mib, 64 * mib}) {
            const StripedBuffers striped = striped_buffers({stripe, objects, objects}, buffers, 2);
            for (const Rings& rings : {striped.rings, striped.staging_rings}) {
                EXPECT_GE(rings.num_slots, 1);
                EXPECT_LE(rings.total() * rings.slot_bytes, 32 * mib);
                EXPECT_LE(rings.total(), max_depth);
                EXPECT_GE(rings.slot_bytes, striped.plan.cycle_bytes);
            }
            EXPECT_EQ(striped.plan.num_lanes, striped.rings.num);
        }
    }
    const StripedBuffers striped = striped_buffers({mib, 16, 16}, buffers, 2);
    EXPECT_EQ(striped.rings, (Rings{8, 4, mib})) << "a lane for each of an aggregator's eight servers";
}

}  // namespace
}  // namespace hakobi::io
