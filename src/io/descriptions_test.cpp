#include "io/descriptions.hpp"

#include <gtest/gtest.h>

#include "drawing.hpp"
#include "region/cursor.hpp"

namespace hakobi::io {
namespace {

/// Ordered, of `num` pieces of 8 bytes.
Region random_indices(Random& random, std::int64_t num, std::int64_t largest_gap) {
    std::vector<std::int64_t> offsets, lengths;
    std::int64_t at = draw(random, 0, 1000);
    for (std::int64_t i = 0; i < num; ++i) {
        offsets.push_back(at);
        lengths.push_back(8);
        at += 8 + draw(random, 0, largest_gap);
    }
    return Region::indexed(offsets, lengths);
}

Region random_region(Random& random) {
    switch (draw(random, 0, 3)) {
        case 0:
            return Region::contiguous(draw(random, 0, 5000), draw(random, 0, 5000));
        case 1:
            return Region::strided(draw(random, 0, 3000), draw(random, 1, 200), draw(random, 30, 90),
                                   Region::contiguous(draw(random, 0, 10), draw(random, 1, 20)));
        case 2:
            return random_indices(random, draw(random, 1, 300), 60);
        default: {
            const Region element = random_indices(random, draw(random, 1, 40), 20);
            return Region::strided(0, draw(random, 1, 20), element.end_bytes() + draw(random, 0, 30),
                                   element);
        }
    }
}

/// The bytes of the region in a cycle, as pieces.
std::vector<std::pair<std::int64_t, std::int64_t>> pieces_in(const Region& region, const Domains& domains,
                                                             std::int64_t cycle) {
    std::vector<std::pair<std::int64_t, std::int64_t>> result;
    const std::int64_t end = region.bytes_below(domains.cycle_end(cycle));
    Cursor at(region);
    at.seek(region.bytes_below(domains.cycle_begin(cycle)));
    while (at.stream() < end) {
        const std::int64_t length = std::min(at.remaining(), end - at.stream());
        if (!result.empty() && result.back().first + result.back().second == at.offset()) {
            result.back().second += length;
        } else {
            result.emplace_back(at.offset(), length);
        }
        at.advance(length);
    }
    return result;
}

// Whatever its kind, and over all phases: for each cycle its aggregator holds just the ranks with bytes in
// it, and knows these bytes as they do. One rank a node; aggregator d is rank d.
TEST(Descriptions, AggregatorsKnowTheBytesInTheirCycles) {
    Random random(1);
    for (int i = 0; i < 400; ++i) {
        const int num_ranks = static_cast<int>(draw(random, 2, 5));
        std::vector<Region> regions;
        std::vector<Describer> describers;
        std::int64_t begin = 1 << 30, end = 0;
        for (int rank = 0; rank < num_ranks; ++rank) {
            regions.push_back(random_region(random));
            describers.emplace_back(regions.back());
            if (regions.back().empty()) continue;
            begin = std::min(begin, regions.back().begin_bytes());
            end = std::max(end, regions.back().end_bytes());
        }
        std::vector<HeldRegions> held(static_cast<std::size_t>(num_ranks));
        const std::int64_t cycle_bytes = draw(random, 50, 2000);
        const StripedPlan striped{cycle_bytes * draw(random, 1, 3), static_cast<int>(draw(random, 1, 7)),
                                  cycle_bytes, 2};
        // So few that each has a cycle of the longest of at most 11 parts of objects.
        const std::int64_t most_phases = std::clamp<std::int64_t>((end - begin) / cycle_bytes / 11, 1, 4);
        PhaseNumber phase{0, i % 3 == 2 ? draw(random, 1, most_phases) : 1};
        while (begin < end) {
            const std::int64_t max_cycles = i % 3 == 2 ? 1 << 30 : draw(random, 1, 40);
            const Domains domains = i % 3 == 0
                                        ? make_domains(begin, end, num_ranks, cycle_bytes, 16, max_cycles)
                                        : make_domains(begin, end, num_ranks, striped, max_cycles, phase);
            for (HeldRegions& of_rank : held) of_rank.begin_phase(domains);
            for (int rank = num_ranks - 1; rank >= 0; --rank) {
                std::vector<int> local_index(static_cast<std::size_t>(num_ranks), -1);
                local_index[static_cast<std::size_t>(rank)] = 0;
                for (const Description& each :
                     describers[static_cast<std::size_t>(rank)].due(domains, local_index)) {
                    ASSERT_NE(each.domain, rank);
                    ASSERT_TRUE(held[static_cast<std::size_t>(each.domain)].hold(rank, rank, each.words));
                }
            }
            for (HeldRegions& of_rank : held) of_rank.arrange();
            for (std::int64_t cycle = 0; cycle < domains.num_cycles; ++cycle) {
                const int domain = domains.domain_of(cycle);
                const HeldRegions& of_aggregator = held[static_cast<std::size_t>(domain)];
                for (int rank = 0; rank < num_ranks; ++rank) {
                    if (rank == domain) continue;
                    const auto expected = pieces_in(regions[static_cast<std::size_t>(rank)], domains, cycle);
                    const auto around =
                        of_aggregator.nodes_around(domains.cycle_begin(cycle), domains.cycle_end(cycle));
                    ASSERT_TRUE(expected.empty() || std::ranges::binary_search(around, rank));
                    const auto found = of_aggregator.of_node(rank);
                    ASSERT_LE(found.size(), 1U);
                    ASSERT_EQ(found.empty() ? decltype(expected)()
                                            : pieces_in(found.front().region, domains, cycle),
                              expected);
                }
            }
            if (phase.is_last()) begin = domains.end_bytes;
            phase.number = phase.is_last() ? 0 : phase.number + 1;
        }
    }
}

TEST(Descriptions, OfABlockAreShortAndSentOnce) {
    // A block of the middle of 1000^3 doubles, over 64 domains and two phases.
    const std::int64_t global[] = {1000, 1000, 1000}, start[] = {250, 250, 250}, count[] = {500, 500, 500};
    const Region block = Region::subarray(0, global, start, count, 8);
    Describer describer(block);
    const std::vector<int> elsewhere(64, -1);
    const Domains first = make_domains(0, 8'000'000'000, 64, 1 << 20, 4096, 4096);
    std::int64_t num_sent = 0;
    for (const Description& each : describer.due(first, elsewhere)) {
        EXPECT_EQ(std::ssize(each.words), block.num_words() + 1);
        ++num_sent;
    }
    EXPECT_LE(block.num_words(), 12);
    EXPECT_GT(num_sent, 16);
    const Domains second = make_domains(first.end_bytes, 8'000'000'000, 64, 1 << 20, 4096, 4096);
    for (const Description& each : describer.due(second, elsewhere)) {
        EXPECT_EQ(std::ssize(each.words), block.num_words() + 1);
        ++num_sent;
    }
    EXPECT_LE(num_sent, 64);  // once for each aggregator, not once for each phase
}

TEST(Descriptions, EachIndexGoesToOneAggregator) {
    Random random(2);
    const Region indices = random_indices(random, 10000, 4000);
    Describer describer(indices);
    const Domains domains = make_domains(0, indices.end_bytes(), 50, 65536, 4096, 4096);
    std::int64_t num_words = 0;
    const auto due = describer.due(domains, std::vector<int>(50, -1));
    for (const Description& each : due) num_words += std::ssize(each.words);
    EXPECT_EQ(std::ssize(due), domains.num_domains);
    // An index that lies on a boundary is known on both sides.
    EXPECT_LE(num_words, 2 * 10000 + std::ssize(due) * 6);
}

TEST(Descriptions, TheNodesOwnAggregatorsAreNotTold) {
    Describer describer(Region::contiguous(0, 100000));
    const Domains domains = make_domains(0, 100000, 4, 4096, 4096, 4096);
    const std::vector<int> local_index{0, -1, 1, -1};
    std::vector<int> told;
    for (const Description& each : describer.due(domains, local_index)) told.push_back(each.domain);
    EXPECT_EQ(told, (std::vector<int>{1, 3}));
}

TEST(Descriptions, WhatIsNoneIsRefused) {
    HeldRegions held;
    EXPECT_FALSE(held.hold(0, 0, {}));
    const std::int64_t too_short[] = {1, 0, 5};
    EXPECT_FALSE(held.hold(0, 0, too_short));
    held.arrange();
    EXPECT_TRUE(held.nodes_around(0, 1 << 30).empty());
}

TEST(HeldRegions, AreInTheOrderOfNodesAndRanks) {
    HeldRegions held;
    std::vector<std::int64_t> words{0};
    Region::contiguous(0, 8).to_words(words);
    for (const auto& [node, rank] : {std::pair{2, 1}, {0, 7}, {2, 0}, {0, 3}})
        ASSERT_TRUE(held.hold(node, rank, words));
    held.arrange();
    EXPECT_EQ(held.nodes_around(7, 9), (std::vector<int>{0, 2}));
    EXPECT_TRUE(held.nodes_around(8, 9).empty());
    std::vector<int> ranks;
    for (const int node : {0, 2})
        for (const HeldRegions::OfRank& each : held.of_node(node)) ranks.push_back(each.rank);
    EXPECT_EQ(ranks, (std::vector<int>{3, 7, 0, 1}));
    EXPECT_TRUE(held.of_node(1).empty());
    EXPECT_EQ(held.num_words(), 16);
}

TEST(HeldRegions, WholeOnesStayWhileTheyHaveBytes) {
    HeldRegions held;
    std::vector<std::int64_t> part{0}, whole{1};
    Region::contiguous(0, 9000).to_words(part);
    Region::contiguous(0, 9000).to_words(whole);
    ASSERT_TRUE(held.hold(0, 0, part));
    ASSERT_TRUE(held.hold(0, 1, whole));
    held.begin_phase(make_domains(8000, 20000, 1, 4096, 1, 1));
    held.arrange();
    ASSERT_EQ(held.of_node(0).size(), 1U);
    EXPECT_EQ(held.of_node(0).front().rank, 1);
    held.begin_phase(make_domains(9000, 20000, 1, 4096, 1, 1));
    held.arrange();
    EXPECT_TRUE(held.nodes_around(0, 20000).empty());
}

}  // namespace
}  // namespace hakobi::io
