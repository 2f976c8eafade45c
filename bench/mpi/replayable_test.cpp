#include "replayable.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>
#include <string>

#include "replay.hpp"

namespace hakobi::bench {
namespace {

using Events = std::vector<TraceEvent>;

/// Each rank's events, on one communicator of all.
std::vector<RankTrace> ranks_of(const std::vector<Events>& events) {
    std::vector<int> world(events.size());
    std::iota(world.begin(), world.end(), 0);
    std::vector<RankTrace> ranks;
    for (const Events& own : events)
        ranks.push_back({.num_ranks = static_cast<int>(events.size()), .groups = {{world}}, .events = own});
    return ranks;
}

std::string why(const std::vector<Events>& events) {
    return why_it_hangs(ranks_of(events));
}

TraceEvent event(const std::string& call, int partner, int tag, std::int64_t bytes) {
    return {.call = call, .partner = partner, .tag = tag, .bytes = bytes};
}

TraceEvent wait(const std::vector<std::int64_t>& requests) {
    return {.call = "wait", .requests = requests};
}

#define EXPECT_SAYS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

TEST(WhyItHangs, WhatMpiBringsToItsEndDoesNot) {
    EXPECT_EQ(why({{}, {}}), "");
    for (std::int64_t bytes : {8, 1'000'000}) {
        const auto halo = [&](int partner) {
            return Events{event("ireceive", partner, 0, bytes), event("isend", partner, 0, bytes),
                          wait({0, 1})};
        };
        EXPECT_EQ(why({halo(1), halo(0)}), "");
        const auto blocking = [&](int partner) {
            return Events{event("ireceive", partner, 0, bytes), event("send", partner, 0, bytes), wait({0})};
        };
        EXPECT_EQ(why({blocking(1), blocking(0)}), "");
        // An open edge, a tag that is met later, a receive that is left over, a message to itself.
        EXPECT_EQ(why({{event("isend", -2, 0, bytes), event("ireceive", -2, 0, bytes), wait({0, 1})}}), "");
        EXPECT_EQ(why({{event("isend", 1, 7, bytes), event("isend", 1, 8, bytes), wait({0, 1})},
                       {event("receive", -1, 8, bytes), event("receive", 0, -1, bytes)}}),
                  "");
        EXPECT_EQ(why({{event("ireceive", -1, -1, bytes)}}), "");
        EXPECT_EQ(why({{event("isend", 0, 0, bytes), event("receive", 0, 0, bytes), wait({0})}}), "");
        EXPECT_EQ(why({{event("bcast", 0, -1, bytes), event("reduce", 1, -1, bytes)},
                       {event("bcast", 0, -1, bytes), event("reduce", 1, -1, bytes)}}),
                  "");
    }
}

TEST(WhyItHangs, AReceiveWithoutAMessageDoes) {
    EXPECT_SAYS(why({{event("receive", 1, 5, 8)}, {}}),
                "rank 0's event 0 (receive of 8 bytes, rank 1, tag 5) waits for ever for its message");
    EXPECT_SAYS(why({{event("ireceive", 1, 5, 8), event("ireceive", 1, 6, 8), wait({0, 1})},
                     {event("send", 0, 5, 8)}}),
                "rank 0's event 1");
    EXPECT_SAYS(why({{event("receive", 1, 5, 8)}, {event("send", 0, 6, 8)}}),
                "waits for ever");  // another tag
    TraceEvent both = event("sendrecv", 1, 0, 8);
    both.source = 1;
    EXPECT_SAYS(why({{both}, {event("receive", 0, 0, 8)}}), "sendrecv of 8 bytes, rank 1, tag 0) waits");
}

TEST(WhyItHangs, AMessageWithoutAReceiveDoes) {
    // Small: only a later repetition's receive would meet it.
    EXPECT_SAYS(why({{event("send", 1, 5, 8)}, {}}), "received by nobody");
    EXPECT_SAYS(why({{event("isend", 1, 5, 100'000)}, {}}), "received by nobody");
    EXPECT_SAYS(why({{event("send", 1, 5, 100'000)}, {}}), "waits for ever for its receive");
    EXPECT_SAYS(why({{event("isend", 1, 5, 100'000), wait({0})}, {}}), "rank 0's event 0 (isend");
}

TEST(WhyItHangs, RanksThatWaitForEachOtherDo) {
    const auto first_sends = [](int partner, std::int64_t bytes) {
        return Events{event("send", partner, 0, bytes), event("receive", partner, 0, bytes)};
    };
    EXPECT_EQ(why({first_sends(1, 4096), first_sends(0, 4096)}), "");
    EXPECT_SAYS(why({first_sends(1, 4097), first_sends(0, 4097)}), "waits for ever");
    EXPECT_EQ(why_it_hangs(ranks_of({first_sends(1, 4097), first_sends(0, 4097)}), 65536), "");
    const auto first_receives = [](int partner) {
        return Events{event("receive", partner, 0, 8), event("send", partner, 0, 8)};
    };
    EXPECT_SAYS(why({first_receives(1), first_receives(0)}), "waits for ever");
}

TEST(WhyItHangs, ACollectiveThatAMemberLacksDoes) {
    const TraceEvent sum = event("allreduce", -1, -1, 8);
    EXPECT_EQ(why({{sum}, {sum}, {sum}}), "");
    EXPECT_SAYS(why({{sum}, {sum}, {}}), "waits for ever for rank 2");
    EXPECT_SAYS(why({{event("bcast", 0, -1, 8)}, {event("bcast", 0, -1, 8)}, {}}), "lacks rank 2");
    EXPECT_SAYS(why({{event("bcast", 0, -1, 8000)}, {event("bcast", 0, -1, 8000)}, {}}), "for rank 2");
    EXPECT_SAYS(why({{}, {event("bcast", 0, -1, 8)}, {event("bcast", 0, -1, 8)}}), "for rank 0");
    EXPECT_SAYS(why({{sum}, {event("barrier", -1, -1, 0)}, {sum}}), "meets");
    EXPECT_SAYS(why({{event("bcast", 0, -1, 8)}, {event("bcast", 1, -1, 8)}}), "meets");
}

TEST(WhyItHangs, CommunicatorsOfTheSameRanksAreApart) {
    auto ranks = ranks_of({{event("barrier", -1, -1, 0)}, {event("barrier", -1, -1, 0)}});
    EXPECT_EQ(why_it_hangs(ranks), "");
    ranks[1].groups[0].copy = 1;
    EXPECT_SAYS(why_it_hangs(ranks), "waits for ever for rank 1");
}

TEST(WhyItHangs, TheReasonIsNamed) {
    auto ranks = ranks_of({{event("receive", 1, 0, 8)}, {}});
    EXPECT_SAYS(why_it_hangs(ranks), "cut off");
    ranks[0].not_replayed = ranks[1].not_replayed = {"MPI_Isendrecv", "MPI_Put"};
    EXPECT_SAYS(why_it_hangs(ranks), "not recorded (MPI_Isendrecv, MPI_Put)");
    ranks[1].num_dropped = 12;
    EXPECT_SAYS(why_it_hangs(ranks), "12 calls did not fit the recorder (HAKOBI_RECORD_EVENTS)");
}

// The rank that has ended, not the one that waits for one that waits.
TEST(WhyItHangs, TheRankToBlameIsNamed) {
    EXPECT_SAYS(why({{event("receive", 1, 0, 8)}, {event("receive", 2, 0, 8), event("send", 0, 0, 8)}, {}}),
                "rank 1's event 0");
}

TEST(Traces, APipeIsRefusedAtOnce) {
    const std::filesystem::path path =
        std::filesystem::temp_directory_path() / ("hakobi_trace_pipe_" + std::to_string(getpid()));
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    const auto traces = read_traces(path.string(), {0});
    std::filesystem::remove(path);
    ASSERT_FALSE(traces.ok());
    EXPECT_SAYS(traces.status().text(), "no regular file");
}

}  // namespace
}  // namespace hakobi::bench
