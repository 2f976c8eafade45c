#include "io/server_watch.hpp"

#include <gtest/gtest.h>

#include <array>

#include "storage/access.hpp"
#include "units.hpp"

namespace hakobi::io {
namespace {

class Watched : public testing::Test {
  protected:
    ServerWatch watch{{7, 8, 7}, 2};  // objects 0 and 2 are on one server
    std::array<storage::Request, 5> requests;
};

TEST_F(Watched, AServersRequestsWaitForEachOther) {
    EXPECT_TRUE(watch.begin(requests[0], 0, 1.0));
    EXPECT_TRUE(watch.begin(requests[1], 2, 1.0));
    EXPECT_FALSE(watch.begin(requests[2], 0, 1.0)) << "two of server 7 are in flight";
    EXPECT_FALSE(watch.begin(requests[3], 2, 1.0));
    EXPECT_TRUE(watch.begin(requests[4], 1, 1.0)) << "another server's";
    EXPECT_EQ(watch.end(requests[1], mib, 2.0).next, &requests[2]) << "in their order";
    EXPECT_EQ(watch.end(requests[0], mib, 2.0).next, &requests[3]);
    EXPECT_EQ(watch.end(requests[4], mib, 2.0).next, nullptr);
}

TEST_F(Watched, TimesAreByServerAndCountWhatIsInFlight) {
    ASSERT_TRUE(watch.begin(requests[0], 0, 1.0));
    ASSERT_TRUE(watch.begin(requests[1], 1, 1.0));
    EXPECT_FALSE(watch.end(requests[0], mib, 1.5).is_taken);
    const std::vector<ServerTimes> times = watch.times(4.0);
    ASSERT_EQ(times.size(), 2U);
    EXPECT_EQ(times[0].server, 7);
    EXPECT_EQ(times[0].num_bytes, mib);
    EXPECT_DOUBLE_EQ(times[0].longest_s, 0.5);
    EXPECT_EQ(times[1].server, 8);
    EXPECT_DOUBLE_EQ(times[1].longest_s, 3.0) << "it has not been answered yet";
    EXPECT_DOUBLE_EQ(times[0].until_s, 0.5);
    EXPECT_DOUBLE_EQ(times[1].until_s, 3.0);
}

TEST_F(Watched, WhatIsLateIsTakenWithWhatWaitsBehindIt) {
    ASSERT_TRUE(watch.begin(requests[0], 0, 1.0));
    ASSERT_TRUE(watch.begin(requests[1], 0, 5.0));
    ASSERT_FALSE(watch.begin(requests[2], 0, 5.0));
    ASSERT_TRUE(watch.begin(requests[3], 1, 5.0));
    const std::vector<ServerWatch::Late> late = watch.take_late(3.0, 6.0);
    ASSERT_EQ(late.size(), 2U);
    EXPECT_EQ(late[0].request, &requests[0]);
    EXPECT_EQ(late[0].server, 7);
    EXPECT_DOUBLE_EQ(late[0].waited_s, 5.0);
    EXPECT_EQ(late[1].request, &requests[2]);
    EXPECT_EQ(late[1].waited_s, 0) << "it has not begun";
    EXPECT_TRUE(watch.end(requests[0], mib, 9.0).is_taken) << "comes back after all";
    EXPECT_FALSE(watch.end(requests[1], mib, 9.0).is_taken);
}

TEST_F(Watched, WhatIsLateIsToldOnceAServer) {
    ASSERT_TRUE(watch.begin(requests[0], 0, 1.0));
    ASSERT_TRUE(watch.begin(requests[1], 2, 1.0));
    ASSERT_TRUE(watch.begin(requests[2], 1, 3.0));
    ASSERT_EQ(watch.newly_late(1.0, 3.0).size(), 1U);
    const std::vector<ServerWatch::Late> late = watch.newly_late(1.0, 4.5);
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late[0].server, 8);
    EXPECT_TRUE(watch.newly_late(1.0, 9.0).empty());
}

TEST(ServerWatch, RequestsOfNoKnownServerAreOnesOfNone) {
    ServerWatch watch({}, 1);
    std::array<storage::Request, 2> requests;
    EXPECT_TRUE(watch.begin(requests[0], -1, 0));
    EXPECT_FALSE(watch.begin(requests[1], 3, 0));
    EXPECT_EQ(watch.times(1.0).front().server, -1);
}

TEST(LateServers, StandOutAgainstTheOthers) {
    const std::vector<ServerTimes> slow = {{0, 10, mib, 20.0, 2.5}, {1, 10, mib, 19.0, 2.2}};
    EXPECT_TRUE(late_of(slow).empty()) << "all alike";
    const std::vector<ServerTimes> quick = {{0, 10, mib, 0.2, 0.05}, {1, 10, mib, 0.3, 0.9}};
    EXPECT_TRUE(late_of(quick).empty()) << "less than a second";
    const std::vector<ServerTimes> stalled = {
        {0, 10, mib, 0.2, 0.05}, {5, 10, mib, 10.2, 10.0}, {6, 9, mib, 0.2, 0.1}};
    ASSERT_EQ(late_of(stalled).size(), 1U);
    EXPECT_EQ(words_of_late(stalled), "server 5 took 10.0 s for a request, the others 0.021 s on average");
    EXPECT_EQ(words_of_late(quick), "");
}

TEST(LateServers, AddUpOverAggregators) {
    const std::vector<ServerTimes> sums =
        summed({{3, 1, mib, 1.0, 1.0}, {2, 1, mib, 1.0, 1.0}, {3, 2, mib, 1.0, 0.5}});
    ASSERT_EQ(sums.size(), 2U);
    EXPECT_EQ(sums[1].server, 3);
    EXPECT_EQ(sums[1].num_requests, 3);
    EXPECT_DOUBLE_EQ(sums[1].longest_s, 1.0);
}

}  // namespace
}  // namespace hakobi::io
