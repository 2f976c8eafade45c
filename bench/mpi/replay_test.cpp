#include "replay.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <numeric>

namespace hakobi::bench {
namespace {

TEST(AddressMap, KeepsDistancesWithinARegionAndMergesWhatOverlaps) {
    std::vector<TraceEvent> events(4);
    events[0] = {.call = "isend", .bytes = 1000, .address = 0x10000};
    events[1] = {.call = "ireceive", .bytes = 1000, .address = 0x10200};  // overlaps the first
    events[2] = {.call = "isend", .bytes = 64, .address = 0x7f0000001040};
    events[3] = {.call = "allreduce", .bytes = 8, .address = 1};  // MPI_IN_PLACE
    const AddressMap map(events);
    EXPECT_EQ(map.offset(0x10200) - map.offset(0x10000), 0x200);
    EXPECT_EQ(map.offset(0x7f0000001040) % 4096, 0x40);
    EXPECT_EQ(map.offset(1), 0);
    EXPECT_LT(map.size_bytes(), 5 * 4096 + 1);
    EXPECT_GE(map.size_bytes(), map.offset(0x7f0000001040) + 64);
}

// As recorded of an MPI_Comm_split in reversed order on which rank 0, a member, made no call: its trace lacks
// the group.
TEST(Replay, MakesACommunicatorThatAMemberNeverUsed) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    std::vector<int> world(static_cast<std::size_t>(comm.size()));
    std::iota(world.begin(), world.end(), 0);
    RankTrace trace{.num_ranks = comm.size(), .groups = {{.ranks = world}}};
    trace.events.push_back({.call = "barrier", .begin_s = 0.001, .end_s = 0.002});
    if (comm.rank() > 0) {
        trace.groups.push_back({.ranks = {world.rbegin(), world.rend()}});
        const int num_users = comm.size() - 1;  // a ring of the ranks from 1
        trace.events.push_back({.call = "sendrecv",
                                .partner = 1 + comm.rank() % num_users,
                                .source = 1 + (comm.rank() + num_users - 2) % num_users,
                                .tag = 7,
                                .group = 1,
                                .bytes = 100,
                                .receive_bytes = 100,
                                .address = 0x10000,
                                .receive_address = 0x20000,
                                .begin_s = 0.003,
                                .end_s = 0.004});
    }
    {
        Replay replay(comm, trace);
        EXPECT_EQ(replay.run().num_failed_calls, 0);
    }
    comm.free();
}

// The receives of any tag of one must not take the message of the other.
TEST(Replay, KeepsCommunicatorsOfTheSameRanksApart) {
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    std::vector<int> world(static_cast<std::size_t>(comm.size()));
    std::iota(world.begin(), world.end(), 0);
    RankTrace trace{.num_ranks = comm.size(), .groups = {{world, 1}, {world, 0}}};
    const int right = (comm.rank() + 1) % comm.size();
    const int left = (comm.rank() + comm.size() - 1) % comm.size();
    // Each in a buffer of its own: a rank alone sends to itself.
    trace.events.push_back({.call = "ireceive", .partner = left, .group = 0, .bytes = 8, .address = 0x1000});
    trace.events.push_back(
        {.call = "isend", .partner = right, .tag = 5, .group = 1, .bytes = 16, .address = 0x2000});
    trace.events.push_back(
        {.call = "isend", .partner = right, .tag = 5, .group = 0, .bytes = 8, .address = 0x3000});
    trace.events.push_back(
        {.call = "receive", .partner = left, .tag = 5, .group = 1, .bytes = 16, .address = 0x4000});
    trace.events.push_back({.call = "wait", .requests = {0, 1, 2}});
    {
        Replay replay(comm, trace);
        EXPECT_EQ(replay.run().num_failed_calls, 0);
    }
    comm.free();
}

TEST(ScratchBytes, ArePaidForCollectivesOnlyAndByTheirRanks) {
    RankTrace trace{.num_ranks = 64, .groups = {{std::vector<int>(64)}, {{0, 1}}}};
    trace.events.push_back({.call = "isend", .partner = 1, .bytes = 1'000'000'000});
    EXPECT_EQ(scratch_bytes(trace), 0);
    trace.events.push_back({.call = "allreduce", .group = 0, .bytes = 1000});
    EXPECT_EQ(scratch_bytes(trace), 1000);
    trace.events.push_back({.call = "allgather", .group = 1, .bytes = 700});
    EXPECT_EQ(scratch_bytes(trace), 1400);
}

class TraceFile : public ::testing::Test {
  protected:
    void SetUp() override {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
        MPI_Comm_size(MPI_COMM_WORLD, &size_);
        path_ = ::testing::TempDir() + "hakobi-trace-" + std::to_string(getpid()) + ".jsonl";
    }
    void TearDown() override { std::remove(path_.c_str()); }
    void write(const std::string& text) const { std::ofstream(path_) << text; }

    /// A ring of nonblocking messages with 2 ms of computing before each round, then a reduction; for every
    /// rank.
    [[nodiscard]] std::string ring(int rounds) const {
        std::string world;
        for (int rank = 0; rank < size_; ++rank) world += (rank > 0 ? "," : "") + std::to_string(rank);
        std::string text = R"({"kind":"trace","schema":1,"ranks":)" + std::to_string(size_) + "}\n";
        for (int rank = 0; rank < size_; ++rank) {
            const std::string left = std::to_string((rank + size_ - 1) % size_);
            const std::string right = std::to_string((rank + 1) % size_);
            std::string events;
            double at_us = 0;
            for (int round = 0; round < rounds; ++round) {
                at_us += 2000;
                const auto time = [&] {
                    const std::string begin = std::to_string(at_us);
                    at_us += 1;
                    return begin + "," + std::to_string(at_us);
                };
                const std::string first = std::to_string(4 * round);
                const std::string second = std::to_string(4 * round + 1);
                events += (round > 0 ? "," : "") + std::string(R"(["ireceive",)") + left +
                          ",7,0,4096,65536," + time() + "],";
                events += R"(["isend",)" + right + ",7,0,4096,81920," + time() + "],";
                events += R"(["wait",-1,-1,0,0,0,)" + time() + ",[" + first + "," + second + "]],";
                events += R"(["allreduce",-1,-1,0,8,1,)" + time() + "]";
            }
            text += R"({"kind":"trace-rank","rank":)" + std::to_string(rank) + R"(,"num_events":)" +
                    std::to_string(4 * rounds) + R"(,"num_dropped":0,"memory_bytes":1048576,"groups":[[)" +
                    world + "]]}\n";
            text += R"({"kind":"trace-events","rank":)" + std::to_string(rank) + R"(,"first":0,"events":[)" +
                    events + "]}\n";
        }
        return text;
    }
    std::string path_;
    int rank_ = 0, size_ = 1;
};

TEST_F(TraceFile, IsReplayedWithTheProgramsOwnTimeBetween) {
    write(ring(10));
    const auto trace = read_trace(path_, rank_);
    ASSERT_TRUE(trace.ok()) << trace.status().text();
    EXPECT_EQ(trace.value().events.size(), 40U);
    EXPECT_EQ(trace.value().num_ranks, size_);
    Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    {
        Replay replay(comm, trace.value());
        for (int repetition = 0; repetition < 2; ++repetition) {
            const ReplayTimes times = replay.run();
            EXPECT_EQ(times.num_failed_calls, 0);
            EXPECT_GE(times.wall_s, 0.020);  // ten times 2 ms
            EXPECT_GT(times.communication_s, 0);
            EXPECT_LE(times.communication_s, times.wall_s - 0.020 + 0.001);
        }
    }
    comm.free();
}

TEST_F(TraceFile, WhatIsNoWholeTraceIsRefused) {
    const std::string whole = ring(1);
    EXPECT_EQ(read_trace(path_ + ".missing", 0).status().code(), ErrorCode::not_found);
    for (const std::string& text :
         {std::string(""), std::string("not json\n"), std::string("{\"kind\":\"summary\"}\n"),
          whole.substr(0, whole.find('\n') + 1), whole.substr(0, whole.rfind("[\"wait\"")),
          std::string(whole).replace(whole.find("[0,1]"), 5, "[0,9]"),
          std::string(whole).replace(whole.find("4096"), 4, "-4096"),
          std::string(whole).replace(whole.find(",7,0,4096"), 9, ",7e99,0,4096"),
          std::string(whole).replace(whole.find(",7,0,4096"), 9, ",7.5,0,4096"),
          std::string(whole).replace(whole.find(",7,0,4096"), 9, ",4294967303,0,4096"),
          std::string(whole).replace(whole.find(",7,0,4096"), 9, ",\"7\",0,4096"),
          std::string(whole).replace(whole.find("isend"), 5, "isent")}) {
        write(text);
        EXPECT_EQ(read_trace(path_, 0).status().code(), ErrorCode::format) << text;
    }
}

}  // namespace
}  // namespace hakobi::bench
