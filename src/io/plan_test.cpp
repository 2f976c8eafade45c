#include "io/plan.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <random>
#include <set>

namespace hakobi::io {
namespace {

using Random = std::mt19937_64;
std::int64_t draw(Random& random, std::int64_t lo, std::int64_t hi) {
    return std::uniform_int_distribution<std::int64_t>(lo, hi)(random);
}

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
            ASSERT_EQ(domains.cycle_of(at), cycle);
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

TEST(RequestTotals, TakeTheWorstErrorOfTheLowestRankAndTheWholeRange) {
    std::vector<RequestSummary> requests(4);
    requests[1] = {.begin_bytes = 50,
                   .end_bytes = 90,
                   .size_bytes = 20,
                   .num_pieces = 4,
                   .service = Service::from_memory};
    requests[3] = {
        .begin_bytes = 10, .end_bytes = 60, .size_bytes = 30, .num_pieces = 3, .service = Service::waits};
    requests[0].error_code = requests[2].error_code = static_cast<int>(ErrorCode::no_space);
    requests[1].error_code = static_cast<int>(ErrorCode::permission);
    const RequestTotals totals = total_of(requests);
    EXPECT_EQ(totals.begin_bytes, 10);
    EXPECT_EQ(totals.end_bytes, 90);
    EXPECT_EQ(totals.size_bytes, 50);
    EXPECT_EQ(totals.largest_size_bytes, 30);
    EXPECT_EQ(totals.smallest_mean_piece_bytes, 5);
    EXPECT_EQ(totals.num_ranks_with_data, 2);
    EXPECT_EQ(totals.service, Service::waits);
    EXPECT_EQ(totals.error_code, static_cast<int>(ErrorCode::no_space));
    EXPECT_EQ(totals.error_rank, 0);
}

TEST(Path, CoarsePiecesServedFromMemorySkipTheShuffleAndSlowStorageDoesNot) {
    RequestTotals totals;
    totals.size_bytes = 1 << 30;
    totals.largest_size_bytes = 1 << 27;
    totals.num_ranks_with_data = 8;
    totals.smallest_mean_piece_bytes = 24 << 10;
    totals.service = Service::from_memory;
    EXPECT_EQ(choose_path(totals, true, "auto", 4 << 20, true).path, Path::shuffle);
    EXPECT_EQ(choose_path(totals, false, "auto", 4 << 20, true).path, Path::direct);
    totals.smallest_mean_piece_bytes = 512 << 10;
    EXPECT_EQ(choose_path(totals, true, "auto", 4 << 20, true).path, Path::direct);
    EXPECT_EQ(choose_path(totals, false, "always", 4 << 20, true).path, Path::shuffle);
    totals.service = Service::waits;
    EXPECT_EQ(choose_path(totals, true, "auto", 4 << 20, true).path, Path::shuffle);
    EXPECT_EQ(choose_path(totals, true, "never", 4 << 20, true).path, Path::direct);
    totals.service = Service::from_memory;
    totals.smallest_mean_piece_bytes = 1280;
    EXPECT_EQ(choose_path(totals, false, "auto", 4 << 20, true).path, Path::shuffle);
    totals.size_bytes = 0;
    EXPECT_EQ(choose_path(totals, false, "never", 4 << 20, true).path, Path::nothing);
}

TEST(Path, ShortRequestsOfOneNodeServedFromMemorySkipTheShuffle) {
    RequestTotals totals;
    totals.size_bytes = 8 * (128 << 10);
    totals.largest_size_bytes = 128 << 10;
    totals.num_ranks_with_data = 8;
    totals.smallest_mean_piece_bytes = 4 << 10;
    totals.service = Service::from_memory;
    const auto path = [&totals](bool is_write, bool is_one_node) {
        return choose_path(totals, is_write, "auto", 4 << 20, is_one_node).path;
    };
    EXPECT_EQ(path(true, true), Path::direct);
    EXPECT_EQ(path(false, true), Path::direct);
    EXPECT_EQ(path(true, false), Path::shuffle) << "nodes would share pages";
    totals.largest_size_bytes = 256 << 10;
    EXPECT_EQ(path(true, true), Path::shuffle) << "so many pieces";
    EXPECT_EQ(path(false, true), Path::direct);
    totals.largest_size_bytes = 257 << 10;
    EXPECT_EQ(path(false, true), Path::shuffle) << "one rank has more";
    totals.largest_size_bytes = 128 << 10;
    totals.smallest_mean_piece_bytes = 2 << 10;
    EXPECT_EQ(path(false, true), Path::shuffle) << "fine pieces";
    totals.smallest_mean_piece_bytes = 4 << 10;
    totals.service = Service::waits;
    EXPECT_EQ(path(true, true), Path::shuffle);
}

TEST(Path, PiecesThatAreFarApartGoDirectWhereTheStorageServesFromMemory) {
    RequestTotals totals;
    totals.size_bytes = totals.largest_size_bytes = 64 << 20;
    totals.begin_bytes = 4096;
    totals.end_bytes = totals.begin_bytes + 16 * totals.size_bytes;
    totals.num_ranks_with_data = 8;
    totals.smallest_mean_piece_bytes = 4 << 10;
    totals.service = Service::from_memory;
    const auto path = [&totals] { return choose_path(totals, true, "auto", 4 << 20, true).path; };
    EXPECT_EQ(path(), Path::direct);
    --totals.end_bytes;
    EXPECT_EQ(path(), Path::shuffle);
    ++totals.end_bytes;
    totals.smallest_mean_piece_bytes = (4 << 10) - 1;
    EXPECT_EQ(path(), Path::shuffle) << "fine pieces";
    totals.smallest_mean_piece_bytes = 4 << 10;
    totals.service = Service::waits;
    EXPECT_EQ(path(), Path::shuffle);
}

TEST(Path, PiecesOfTwoStripesAndAMebibyteAreCoarseForAnyStorage) {
    EXPECT_EQ(large_piece_bytes(4096, 4 << 20), 1 << 20);
    EXPECT_EQ(large_piece_bytes(1 << 20, 4 << 20), 2 << 20);
    EXPECT_EQ(large_piece_bytes(16 << 20, 4 << 20), 4 << 20);
    EXPECT_EQ(large_piece_bytes(4096, 64 << 10), 64 << 10);
    RequestTotals totals;
    totals.size_bytes = 1 << 30;
    totals.num_ranks_with_data = 8;
    totals.service = Service::waits;
    totals.smallest_mean_piece_bytes = large_piece_bytes(4096, 4 << 20);
    EXPECT_EQ(choose_path(totals, true, "auto", totals.smallest_mean_piece_bytes, true).path, Path::direct);
    EXPECT_EQ(choose_path(totals, true, "auto", totals.smallest_mean_piece_bytes + 1, true).path,
              Path::shuffle);
}

TEST(Aggregators, AreSpreadOverNodesFirstAndWithinEachThen) {
    const std::vector<std::vector<int>> nodes{{0, 1, 2, 3}, {4, 5}, {6, 7, 8, 9}};
    EXPECT_EQ(choose_aggregators(nodes, 0, 1), (std::vector<int>{0, 4, 6}));
    EXPECT_EQ(choose_aggregators(nodes, 2, 1), (std::vector<int>{0, 4}));
    EXPECT_EQ(choose_aggregators(nodes, 0, 2), (std::vector<int>{0, 2, 4, 5, 6, 8}));
    EXPECT_EQ(choose_aggregators(nodes, 100, 1).size(), 10u);
}

TEST(RequestTotals, AreTheSameByAReduction) {
    Random random(7);
    constexpr std::int64_t no_end = std::numeric_limits<std::int64_t>::max();
    for (int i = 0; i < 5000; ++i) {
        std::vector<RequestSummary> requests(static_cast<std::size_t>(draw(random, 1, 9)));
        ReducedSummary all;
        for (std::size_t rank = 0; rank < requests.size(); ++rank) {
            RequestSummary& request = requests[rank];
            if (draw(random, 0, 2) > 0) {
                request.begin_bytes = draw(random, 0, 1000) << draw(random, 0, 50);
                request.size_bytes = draw(random, 1, 1000) << draw(random, 0, 30);
                request.end_bytes = request.begin_bytes + request.size_bytes + draw(random, 0, 100);
                request.num_pieces = draw(random, 1, 100);
            }
            request.service = static_cast<Service>(draw(random, -1, 1));
            if (draw(random, 0, 5) == 0) request.error_code = draw(random, 1, 3);
            request.end_of_file = draw(random, 0, 1) == 0 ? no_end : draw(random, 0, 1 << 30);
            request.leaves_holes = draw(random, 0, 4) == 0 ? 1 : 0;
            const ReducedSummary each = reduced(request, static_cast<int>(rank));
            if (rank == 0) {
                all = each;
                continue;
            }
            for (std::size_t m = 0; m < all.maxima.size(); ++m)
                all.maxima[m] = std::max(all.maxima[m], each.maxima[m]);
            for (std::size_t s = 0; s < all.sums.size(); ++s) all.sums[s] += each.sums[s];
        }
        ASSERT_EQ(total_of(all), total_of(requests));
    }
}

}  // namespace
}  // namespace hakobi::io
