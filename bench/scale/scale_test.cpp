#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "case.hpp"
#include "methods.hpp"
#include "phase.hpp"
#include "storage.hpp"
#include "units.hpp"

namespace hakobi::bench::scale {
namespace {

Machine machine_of(int ranks_per_node) {
    Machine machine;
    machine.ranks_per_node = ranks_per_node;
    machine.core_rate = 10e9;
    machine.piece_s = 1e-7;
    machine.memory_rate = 50e9;
    machine.network_rate = 10e9;
    machine.network_latency_s = 2e-6;
    machine.message_s = 1e-6;
    machine.highest_tag = 2097151;
    machine.num_servers = 64;
    machine.server_rate = 1e9;
    machine.storage_latency_s = 1e-3;
    machine.client_rate = 2e9;
    machine.stream_rate = 1e9;
    return machine;
}

Pattern pattern_of(const char* name, int num_ranks, std::int64_t bytes_of_rank = 16 * mib) {
    auto made = make_pattern(name, num_ranks * bytes_of_rank, 4096, num_ranks, 0);
    EXPECT_TRUE(made.ok());
    return std::move(made).value();
}

double gb_s(const Pattern& pattern, const Outcome& outcome) {
    return 1e-9 * static_cast<double>(pattern.file_bytes) / outcome.time_s;
}

TEST(ScaleStorage, AServerServesOneAfterTheOtherAndMovesItsLock) {
    Machine machine = machine_of(1);
    machine.client_rate = machine.stream_rate = 0;
    machine.lock_s = 1e-3;
    Storage storage(machine, {2, mib}, 2);
    EXPECT_NEAR(storage.write(0, 0, 0, 2 * mib), 1.048576e-3, 1e-9);  // half on each
    EXPECT_NEAR(storage.write(0, 0, 2 * mib, 3 * mib), 2.097152e-3, 1e-9);
    EXPECT_NEAR(storage.write(1, 0, 3 * mib, 4 * mib), 3.097152e-3, 1e-9);  // the second server's lock moves
    Busy busy;
    storage.add_to(busy);
    EXPECT_NEAR(busy.servers_s, 2.097152e-3, 1e-9);
    EXPECT_NEAR(busy.locks_s, 1e-3, 1e-9);
}

TEST(ScaleStorage, NodesThatWriteApartKeepTheirLocks) {
    Machine machine = machine_of(1);
    machine.lock_s = 1e-3;
    Storage storage(machine, {1, mib}, 2);
    for (int i = 0; i < 8; ++i) {
        (void)storage.write(0, i, i * mib, (i + 1) * mib);
        (void)storage.write(1, i, (8 + i) * mib, (9 + i) * mib);
    }
    Busy apart;
    storage.add_to(apart);
    EXPECT_NEAR(apart.locks_s, 1e-3, 1e-9);  // of node 1's first
    (void)storage.write(1, 8, 4 * mib, 5 * mib);
    Busy between;
    storage.add_to(between);
    EXPECT_NEAR(between.locks_s, 1e-3, 1e-9);  // behind node 0's and before its own
}

TEST(ScaleStorage, AThreadAndANodeHaveTheirOwnRates) {
    Machine machine = machine_of(1);
    machine.server_rate = 0;
    Storage storage(machine, {1, mib}, 2);
    EXPECT_NEAR(storage.write(0, 0, 0, mib), 1.048576e-3, 1e-9);  // the thread's
    EXPECT_NEAR(storage.write(0, 0, 0, mib), 1.048576e-3, 1e-9);
    EXPECT_NEAR(storage.write(0, 0, 0, mib), 1.5 * 1.048576e-3, 1e-9);  // the node's, of three threads
    EXPECT_NEAR(storage.write(1, 0, 0, mib), 1.048576e-3, 1e-9);
}

TEST(ScalePhase, AccessesOverlapWithTheCopiesOfTheNextCycles) {
    const Pattern pattern = pattern_of("block3d", 4, 64 * mib);
    Machine machine = machine_of(4);
    const Job job{4, 4};
    machine.client_rate = machine.stream_rate = 0;
    machine.num_servers = 1;
    const Outcome outcome = pipelined(pattern, job, machine, {1, mib}, false);
    const double server_s = seconds(static_cast<double>(pattern.file_bytes), machine.server_rate);
    EXPECT_GT(outcome.time_s, server_s);
    EXPECT_LT(outcome.time_s, 1.03 * server_s);
    EXPECT_EQ(outcome.busy.longest(), "servers");
}

// Every byte is stored once, whoever aggregates: nobody waits for a buffer that never opens.
TEST(ScalePhase, EndsWithAllStored) {
    for (const char* name : {"block3d", "cyclic", "tile2d", "lattice4d"}) {
        for (const int ranks : {3, 8, 48}) {
            const Pattern pattern = pattern_of(name, ranks, 4 * mib);
            for (const bool is_by_server : {false, true}) {
                const Machine machine = machine_of(4);
                const Job job{ranks, 4};
                const Layout layout = is_by_server ? layout_for(job, machine) : Layout{4, mib};
                const Outcome outcome = pipelined(pattern, job, machine, layout, is_by_server);
                const double least_s =
                    seconds(static_cast<double>(pattern.file_bytes), job.num_nodes() * machine.client_rate);
                EXPECT_GE(outcome.time_s, 0.999 * least_s) << name << " " << ranks;
                EXPECT_LT(outcome.time_s, 40 * least_s) << name << " " << ranks;
            }
        }
    }
}

TEST(ScaleMethods, ALayoutByServerIsWorthMoreThanTheDefaultOne) {
    Machine machine = machine_of(8);
    machine.lock_s = 2e-4;
    const Job job{512, 8};
    const Pattern pattern = pattern_of("block3d", job.num_ranks, 32 * mib);
    const Outcome by_default = pipelined(pattern, job, machine, {8, mib}, false);
    const Layout layout = layout_for(job, machine);
    const Outcome by_server = pipelined(pattern, job, machine, layout, true);
    EXPECT_EQ(layout.num_stripes, 64);
    EXPECT_LT(gb_s(pattern, by_default), 8.0);
    EXPECT_GT(gb_s(pattern, by_server), 0.7 * 64);
    EXPECT_EQ(by_server.busy.locks_s, 0);
}

// One rank's copies and threads are the limit where a node's storage is faster than they are.
TEST(ScaleMethods, AnAggregatorLimitsAFatNode) {
    Machine machine = machine_of(16);
    machine.client_rate = machine.network_rate = 40e9;
    machine.memory_rate = 0;
    machine.server_rate = 10e9;
    machine.stream_rate = 4e9;
    const Job job{128, 16};
    const Pattern pattern = pattern_of("block3d", job.num_ranks, 64 * mib);
    const Layout layout = {64, 4 * mib};
    const Outcome one = pipelined(pattern, job, machine, layout, true, {.cb_nodes = 8});
    EXPECT_EQ(one.busy.longest(), "aggregator");
    EXPECT_LT(gb_s(pattern, one), 8 * 10);
    const Outcome four = pipelined(pattern, job, machine, layout, true, {.cb_nodes = 32});
    EXPECT_EQ(four.num_aggregators, 32);
    EXPECT_GT(gb_s(pattern, four), 2.5 * gb_s(pattern, one));
}

// Requests to a server beyond the bound wait, as in io/server_watch.hpp.
TEST(ScaleMethods, RequestsInFlightForAServerAreBounded) {
    Machine machine = machine_of(8);
    machine.client_rate = 0;
    const Job job{64, 8};
    const Pattern pattern = pattern_of("block3d", job.num_ranks, 64 * mib);
    const Layout layout = {8, 4 * mib};
    machine.server_rate = 20e9;
    const Outcome one = pipelined(pattern, job, machine, layout, true, {.server_requests = 1});
    const Outcome four = pipelined(pattern, job, machine, layout, true, {.server_requests = 4});
    EXPECT_LT(gb_s(pattern, one), 8 * 1e-9 * machine.stream_rate);
    EXPECT_GT(gb_s(pattern, four), 2.5 * gb_s(pattern, one));
}

// The phases of a long call overlap: it is no slower than a short one, whose one phase fills and drains.
TEST(ScaleMethods, ALongCallIsAsFastAsAShortOne) {
    Machine machine = machine_of(8);
    machine.highest_tag = 32 * 48;  // 48 cycles of each aggregator a phase
    const Job job{256, 8};
    const Layout layout = layout_for(job, machine);
    const Pattern brief = pattern_of("block3d", job.num_ranks, 16 * mib);
    const Pattern lasting = pattern_of("block3d", job.num_ranks, 256 * mib);
    const Outcome of_brief = pipelined(brief, job, machine, layout, true);
    const Outcome of_lasting = pipelined(lasting, job, machine, layout, true);
    EXPECT_EQ(of_brief.num_phases, 1);
    EXPECT_GT(of_lasting.num_phases, 6);
    EXPECT_GT(gb_s(lasting, of_lasting), gb_s(brief, of_brief));
    EXPECT_LE(gb_s(lasting, of_lasting), 64);
}

TEST(ScaleMethods, TurnsOfExchangeAndAccessAddUp) {
    const Pattern pattern = pattern_of("block3d", 16, 64 * mib);
    Machine machine = machine_of(4);
    const Job job{16, 4};
    const Outcome outcome = parallel(pattern, job, machine, {4, mib});
    EXPECT_EQ(outcome.num_aggregators, 4);
    EXPECT_EQ(outcome.num_phases, (pattern.file_bytes / 4 - 1) / (16 * mib) + 1);
    // A thread's rate for the data, and the copies behind one another.
    const double of_one = static_cast<double>(pattern.file_bytes) / 4;
    EXPECT_GT(outcome.time_s, seconds(of_one, machine.stream_rate) + seconds(of_one, machine.core_rate));
}

TEST(ScaleMethods, AnAggregatorAStripeAtMostOneANode) {
    const Pattern pattern = pattern_of("block3d", 64);
    Machine machine = machine_of(4);
    machine.is_aggregated_by_stripe = true;
    const Job job{64, 4};
    EXPECT_EQ(parallel(pattern, job, machine, {8, mib}).num_aggregators, 8);
    EXPECT_EQ(parallel(pattern, job, machine, {24, mib}).num_aggregators,
              12);  // divides 24, and 16 nodes have it
    // Stripes longer than a buffer: all aggregators are at work in every round.
    const Outcome in_parts = parallel(pattern, job, machine, {8, 64 * mib});
    EXPECT_LT(in_parts.time_s, 1.5 * parallel(pattern, job, machine, {8, 16 * mib}).time_s);
}

TEST(ScaleMethods, RangesBehindOneAnotherAreNotExchanged) {
    const Pattern pattern = pattern_of("contiguous", 8);
    Machine machine = machine_of(1);
    const Outcome outcome = parallel(pattern, {8, 1}, machine, {8, mib});
    EXPECT_EQ(outcome.busy.memory_s, 0);
    EXPECT_NEAR(outcome.time_s, 16 * 1.048576e-3 + machine.storage_latency_s, 1e-4);
}

TEST(ScaleMethods, OneWriterIsAsFastAsOneThread) {
    const Pattern pattern = pattern_of("block3d", 64);
    const Machine machine = machine_of(4);
    const Outcome outcome = collected(pattern, {64, 4}, machine, {8, mib}, 64);
    EXPECT_LT(gb_s(pattern, outcome), 1.0);
    EXPECT_EQ(outcome.num_aggregators, 1);
    EXPECT_EQ(outcome.busy.longest(), "client");
}

TEST(ScaleMethods, WordsOfDescriptionAreThoseOfTheRegions) {
    const Pattern pattern = pattern_of("block3d", 64);
    const Machine machine = machine_of(8);
    const Outcome outcome = pipelined(pattern, {64, 8}, machine, {8, mib}, false);
    const std::int64_t words = pattern.files.front().num_words() + 1;
    EXPECT_GE(outcome.mean_words_sent,
              static_cast<double>(words));  // two domains of eight at least, one of them its own
    EXPECT_LE(outcome.most_words_sent, static_cast<double>(8 * words));
    EXPECT_EQ(pipelined(pattern, {64, 64}, machine, {8, mib}, false).mean_words_sent, 0);  // one node
}

TEST(ScaleCases, WhatIsNoCaseIsRefusedBeforeAnyRuns) {
    int taken = 0;
    const auto take = [&](const measure::Record&) { ++taken; };
    EXPECT_EQ(run_cases({R"({"name": "x"})"}, take).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(run_cases({"not JSON"}, take).code(), ErrorCode::invalid_argument);
    EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace hakobi::bench::scale
