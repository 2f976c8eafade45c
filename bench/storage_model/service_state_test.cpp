#include "storage_model/service_state.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "storage_model/read_ahead.hpp"

namespace hakobi::storage {
namespace {

/// Servers of 1 MB/ms without latency, stripes of 1 MB: times come out in whole ms.
class Model : public testing::Test {
  protected:
    static constexpr std::int64_t ms = 1'000'000, mb = 1'000'000, mib = 1 << 20;
    static constexpr std::uint64_t a_file = 7, another_file = 8;
    ServiceModel model{.num_servers = 4, .bandwidth_mb_s = 1000, .latency_ns = 0, .stripe_bytes = mb};
    std::unique_ptr<ServiceState> state = std::make_unique<ServiceState>();
    std::int64_t slept_until_ns = 0;

    std::int64_t pass(bool is_write, int node, std::int64_t arrival_ns, std::int64_t offset,
                      std::int64_t length, std::uint64_t file = a_file) {
        const ServiceRequest request{file, node, is_write, arrival_ns, offset, length};
        return Passage(model, *state, request).run([this](std::int64_t until_ns) {
            slept_until_ns = until_ns;
        });
    }
};

TEST_F(Model, WithoutNewWordsIsTheOldOne) {
    EXPECT_FALSE(Passage::has_stops(model));
    EXPECT_EQ(pass(true, 3, 100 * ms, 0, 4 * mb), 101 * ms);
    EXPECT_EQ(pass(false, 0, 100 * ms, 0, 8 * mb), 103 * ms);
    EXPECT_EQ(slept_until_ns, 0);
}

TEST_F(Model, AFileOfFewStripesLiesOnFewServers) {
    model.num_stripes = 2;
    EXPECT_EQ(pass(true, 0, 0, 0, 4 * mb), 2 * ms);
    int num_taken = 0;
    for (const Server& server : state->servers) num_taken += server.free_ns > 0 ? 1 : 0;
    EXPECT_EQ(num_taken, 2);
}

TEST_F(Model, ALayoutThatWasSetHolds) {
    model.num_stripes = 1;
    model.num_servers = 3;
    state->entry_of(a_file).layout = packed({131072, 5, 2});
    const FileStriping striping = state->striping_of(model, a_file);
    EXPECT_EQ(striping.stripe_bytes, 131072);
    EXPECT_EQ(striping.num_stripes, 5);
    EXPECT_EQ(striping.server_of(2, model), 1) << "overstriped: two objects on a server";
    EXPECT_EQ(state->striping_of(model, another_file).num_stripes, 1);
    state->entry_of(another_file).layout = waits_for_layout;
    EXPECT_EQ(state->striping_of(model, another_file).num_stripes, 1);
}

TEST_F(Model, ANodesLinkTakesOneStripeAfterTheOther) {
    model.client_mb_s = 500;
    EXPECT_TRUE(Passage::has_stops(model));
    EXPECT_EQ(pass(true, 0, 0, 0, 4 * mb), 9 * ms)
        << "four stripes of 2 ms on the link, the last one's server";
    EXPECT_EQ(slept_until_ns, 8 * ms);
    EXPECT_EQ(pass(true, 1, 0, 4 * mb, 4 * mb), 10 * ms)
        << "another node's link is free; its stripes come second at each server";
    EXPECT_EQ(pass(true, 0, 0, 8 * mb, mb), 11 * ms) << "this one's is not";
}

TEST_F(Model, ReadsComeBackOverTheLink) {
    model.client_mb_s = 500;
    EXPECT_EQ(pass(false, 0, 0, 0, 4 * mb), 9 * ms) << "a server, then four stripes on the link";
}

TEST_F(Model, AllNodesShareTheNetwork) {
    model.network_mb_s = 500;
    EXPECT_EQ(pass(true, 0, 0, 0, 2 * mb), 5 * ms);
    EXPECT_EQ(pass(true, 1, 0, 2 * mb, 2 * mb), 9 * ms);
}

TEST_F(Model, ALockMovesWhenItsHolderIsThrough) {
    model.lock_bytes = 16 * mb;
    model.lock_move_ns = 5 * ms;
    EXPECT_EQ(pass(true, 0, 0, 0, mb), 1 * ms) << "nobody's";
    EXPECT_EQ(pass(true, 0, 1 * ms, 4 * mb, mb), 2 * ms) << "its own";
    EXPECT_EQ(pass(true, 1, 1 * ms, 8 * mb, mb), 8 * ms)
        << "2 ms until the holder is through, 5 for the move";
    EXPECT_EQ(slept_until_ns, 7 * ms);
    EXPECT_EQ(pass(true, 0, 8 * ms, 0, mb), 14 * ms) << "back again";
    EXPECT_EQ(pass(true, 1, 8 * ms, 1 * mb, mb), 9 * ms) << "another server's share has a lock of its own";
    EXPECT_EQ(pass(true, 1, 20 * ms, 64 * mb, mb), 21 * ms) << "so has what lies behind 16 MB of this one";
    EXPECT_EQ(pass(true, 1, 20 * ms, 0, mb, another_file), 22 * ms)
        << "and another file, on a server that is taken";
}

TEST_F(Model, ManyNodesReadUnderOneLock) {
    model.lock_bytes = 16 * mb;
    model.lock_move_ns = 5 * ms;
    EXPECT_EQ(pass(false, 0, 0, 0, mb), 1 * ms);
    EXPECT_EQ(pass(false, 1, 10 * ms, 0, mb), 11 * ms);
    EXPECT_EQ(pass(false, 2, 20 * ms, 0, mb), 21 * ms);
    EXPECT_EQ(pass(true, 1, 30 * ms, 0, mb), 36 * ms) << "who writes gets it alone";
    EXPECT_EQ(pass(false, 0, 40 * ms, 0, mb), 46 * ms);
    EXPECT_EQ(pass(false, 2, 50 * ms, 0, mb), 51 * ms);
}

TEST_F(Model, OneServerIsSlow) {
    model.slow_server = 2;
    model.slow_bandwidth_mb_s = 100;
    model.slow_latency_ns = 3 * ms;
    EXPECT_EQ(pass(true, 0, 0, mb, mb), 1 * ms);
    EXPECT_EQ(pass(true, 0, 0, 2 * mb, mb), 13 * ms);
}

TEST_F(Model, AServerStallsOnceAFile) {
    model.stalled_server = 1;
    model.stall_ns = 100 * ms;
    EXPECT_EQ(pass(true, 0, 0, 0, mb), 1 * ms) << "another server";
    EXPECT_EQ(pass(true, 0, 0, mb, mb), 101 * ms);
    EXPECT_EQ(pass(true, 0, 200 * ms, mb, mb), 201 * ms);
    EXPECT_EQ(pass(true, 0, 200 * ms, 2 * mb, mb, another_file), 201 * ms);
    EXPECT_EQ(pass(true, 0, 210 * ms, mb, mb, another_file), 311 * ms);
}

TEST_F(Model, AClientReadsAheadOfWhatGoesOn) {
    model = {.num_servers = 1, .bandwidth_mb_s = 1048.576, .latency_ns = 10 * ms, .stripe_bytes = mib};
    model.ahead_bytes = 4 * mib;
    ReadAhead ahead;
    const auto read = [&](std::int64_t arrival_ns, std::int64_t offset, std::int64_t length) {
        const ServiceRequest request{a_file, 0, false, arrival_ns, offset, length};
        return ahead.pass(model, *state, request, 64 * mib);
    };
    EXPECT_EQ(read(0, 0, mib), 11 * ms) << "the first goes on from nowhere";
    EXPECT_EQ(state->servers[0].free_ns, 1 * ms);
    EXPECT_EQ(read(100 * ms, mib, mib), 111 * ms);
    EXPECT_EQ(state->servers[0].free_ns, 103 * ms) << "two more were asked for";
    EXPECT_EQ(read(105 * ms, 2 * mib, mib), 112 * ms) << "on its way since 100 ms";
    EXPECT_EQ(state->servers[0].free_ns, 108 * ms) << "a window of four, of which one was there";
    EXPECT_EQ(read(200 * ms, 4 * mib, mib), 200 * ms) << "there, though another thread's read comes later";
    EXPECT_EQ(read(201 * ms, 3 * mib, mib), 201 * ms);
    EXPECT_EQ(read(250 * ms, 4 * mib, mib), 261 * ms) << "once";
    EXPECT_EQ(read(300 * ms, 32 * mib, mib), 311 * ms) << "elsewhere";
    EXPECT_EQ(state->servers[0].free_ns, 301 * ms) << "that ended it";
    EXPECT_EQ(read(400 * ms, 33 * mib, mib), 411 * ms);
    EXPECT_EQ(read(500 * ms, 0, mib), 511 * ms) << "nothing of before is known";
}

TEST_F(Model, NobodyReadsAheadOfTheFilesEnd) {
    model.ahead_bytes = 64 * mib;
    ReadAhead ahead;
    for (std::int64_t offset = 0; offset < 3 * mb; offset += mb) {
        const ServiceRequest request{a_file, 0, false, 0, offset, mb};
        ahead.pass(model, *state, request, 3 * mb);
    }
    for (int server = 0; server < 4; ++server)
        EXPECT_EQ(state->servers[static_cast<std::size_t>(server)].free_ns, server < 3 ? 1 * ms : 0);
}

TEST(ServiceModel, ItsNewWordsAreReadOrRefused) {
    ServiceModel read;
    EXPECT_EQ(parse_service_model(
                  "servers=16,bandwidth=50,stripes=4,nodes=8,client=80,network=1000,lock=16M,lock_move=2ms,"
                  "slow_server=3,slow_bandwidth=10,slow_latency=20ms,stalled_server=5,stall=10s",
                  read),
              "");
    EXPECT_EQ(read.num_stripes, 4);
    EXPECT_EQ(read.lock_bytes, 16 << 20);
    EXPECT_EQ(read.stall_ns, 10'000 * ms);
    EXPECT_EQ(read.limit_bytes_s(), 640e6) << "eight nodes of 80 MB/s";
    for (const char* wrong : {"stripes=0", "servers=2,stripes=3", "nodes=0", "client=0", "client=5M",
                              "network=-1", "lock=0", "lock_move=2", "slow_server=4", "stalled_server=-1",
                              "stalled_server=9", "slow_server=1.5", "stall=1h"}) {
        ServiceModel fresh;
        EXPECT_NE(parse_service_model(wrong, fresh), "") << wrong;
    }
}

}  // namespace
}  // namespace hakobi::storage
