#include "storage_model/throttled.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "storage/null.hpp"

namespace hakobi::storage {
namespace {

using Servers = std::vector<Server>;
constexpr std::int64_t ms = 1'000'000;
constexpr std::uint64_t a_file = 7, another_file = 8;

/// Four servers of 1 MB/ms each, 2 ms latency, stripes of 1 MB: times come out in whole ms.
constexpr ServiceModel model = {
    .num_servers = 4, .bandwidth_mb_s = 1000, .latency_ns = 2 * ms, .stripe_bytes = 1'000'000};

TEST(ServiceModel, ServersSharesAddUpToTheRequest) {
    std::mt19937_64 random(20110311);
    for (int i = 0; i < 2000; ++i) {
        ServiceModel any{.num_servers = static_cast<int>(random() % 7 + 1)};
        any.stripe_bytes = static_cast<std::int64_t>(random() % 1000 + 1);
        const auto offset = static_cast<std::int64_t>(random() % 100'000),
                   length = static_cast<std::int64_t>(random() % 20'000);
        std::vector<std::int64_t> by_hand(static_cast<std::size_t>(any.num_servers));
        for (std::int64_t byte = offset; byte < offset + length; ++byte) {
            ++by_hand[static_cast<std::size_t>(byte / any.stripe_bytes % any.num_servers)];
        }
        for (int server = 0; server < any.num_servers; ++server) {
            EXPECT_EQ(bytes_on_server(any, offset + length, server) - bytes_on_server(any, offset, server),
                      by_hand[static_cast<std::size_t>(server)]);
        }
    }
}

TEST(ServiceModel, OneRequestPaysLatencyAndItsLargestShare) {
    Servers free(4);
    EXPECT_EQ(queue_request(model, free, a_file, 100 * ms, 0, 4'000'000), 103 * ms);
    EXPECT_EQ(free[0].free_ns, 101 * ms);
    EXPECT_EQ(free[3].free_ns, 101 * ms);
    Servers other(4);
    EXPECT_EQ(queue_request(model, other, a_file, 0, 1'000'000, 2'000'000), 3 * ms);
    EXPECT_EQ(other[0].free_ns, 0) << "a server without a share was taken";
    EXPECT_EQ(other[3].free_ns, 0);
}

TEST(ServiceModel, RequestsInFlightShareServersAndOverlapLatencies) {
    Servers free(4);
    EXPECT_EQ(queue_request(model, free, a_file, 0, 0, 4'000'000), 3 * ms);
    EXPECT_EQ(queue_request(model, free, a_file, 0, 4'000'000, 4'000'000), 4 * ms);
    EXPECT_EQ(queue_request(model, free, a_file, 0, 8'000'000, 4'000'000), 5 * ms);
}

TEST(ServiceModel, ALogHasWhenAServersTurnCame) {
    ServiceModel one = model;
    one.num_servers = 1;
    Servers servers(1);
    std::vector<Served> log;
    const FileStriping whole = FileStriping::whole(one);
    queue_request(one, servers, a_file, whole, 0, 0, 4'000'000, true, &log);
    queue_request(one, servers, a_file, whole, 1 * ms, 4'000'000, 2'000'000, true, &log);
    ASSERT_EQ(log.size(), 2U);
    EXPECT_EQ(log[1].arrival_ns, 1 * ms);
    EXPECT_EQ(log[1].begin_ns, log[0].end_ns) << "it waited for the first";
    EXPECT_EQ(2 * (log[1].end_ns - log[1].begin_ns), log[0].end_ns - log[0].begin_ns);
}

TEST(ServiceModel, IdleTimeIsLost) {
    Servers free(4);
    queue_request(model, free, a_file, 0, 0, 4'000'000);
    EXPECT_EQ(queue_request(model, free, a_file, 50 * ms, 0, 8'000'000), 54 * ms);
}

TEST(ServiceModel, ADiskSeeksWhereARequestDoesNotFollowTheLast) {
    ServiceModel disk = model;
    disk.num_servers = 2;
    disk.latency_ns = 0;
    disk.seek_ns = 8 * ms;
    Servers servers(2);
    EXPECT_EQ(queue_request(disk, servers, a_file, 0, 0, 2'000'000), 9 * ms)
        << "the first request finds its place";
    EXPECT_EQ(queue_request(disk, servers, a_file, 10 * ms, 2'000'000, 2'000'000), 11 * ms)
        << "it follows: no seek";
    EXPECT_EQ(queue_request(disk, servers, a_file, 20 * ms, 2'000'000, 2'000'000), 29 * ms) << "back: a seek";
    EXPECT_EQ(queue_request(disk, servers, another_file, 40 * ms, 4'000'000, 2'000'000), 49 * ms)
        << "the same place of another file is elsewhere";
    EXPECT_EQ(queue_request(disk, servers, another_file, 60 * ms, 6'000'000, 1'000'000), 61 * ms);
    EXPECT_EQ(servers[1].free_ns, 49 * ms) << "a server without a share seeks nothing";
}

TEST(ServiceModel, ARaidReadsWhatAWriteDoesNotFillOfARow) {
    ServiceModel raid = model;
    EXPECT_EQ(parse_service_model("servers=1,bandwidth=65.536,latency=0ms,seek=8ms,disks=6,raid=5", raid),
              "");
    EXPECT_EQ(raid.limit_bytes_s(), 5 * 65.536e6);
    constexpr std::int64_t chunk = ServiceModel::chunk_bytes, row = 5 * chunk;  // a chunk takes a disk 1 ms
    const auto time_ns = [&](std::int64_t begin, std::int64_t end, bool is_write) {
        const DiskWork work = disk_work(raid, 0, begin, end, is_write);
        return work.busy_ns + work.num_turns * raid.seek_ns;
    };
    EXPECT_EQ(time_ns(0, 4 * row, true), 4 * ms) << "whole rows: five disks at once";
    EXPECT_EQ(time_ns(0, 4 * row, false), 4 * ms);
    EXPECT_EQ(time_ns(0, chunk, false), 1 * ms) << "a read of one chunk has one disk";
    EXPECT_EQ(time_ns(0, chunk, true), 10 * ms) << "read, another turn, written";
    EXPECT_EQ(time_ns(chunk, row + chunk, true), 20 * ms) << "two rows in part: 4 chunks and 1";
    EXPECT_EQ(time_ns(chunk, 2 * row + chunk, true), 21 * ms) << "and a whole one between them";
    Servers servers(1);
    const FileStriping whole = FileStriping::whole(raid);
    EXPECT_EQ(queue_request(raid, servers, a_file, whole, 0, 0, chunk, true), 18 * ms) << "it seeks, too";
}

TEST(ServiceModel, AnEmptyRequestPaysOnlyLatency) {
    Servers free(4);
    EXPECT_EQ(queue_request(model, free, a_file, 7 * ms, 123, 0), 9 * ms);
}

TEST(ServiceModel, ItsTextIsReadOrRefused) {
    ServiceModel read;
    EXPECT_EQ(parse_service_model("servers=2,bandwidth=62.5,latency=200us,stripe=64K", read), "");
    EXPECT_EQ(read.num_servers, 2);
    EXPECT_EQ(read.bandwidth_mb_s, 62.5);
    EXPECT_EQ(read.latency_ns, 200'000);
    EXPECT_EQ(read.stripe_bytes, 65'536);
    EXPECT_EQ(read.limit_bytes_s(), 125e6);
    for (const char* wrong :
         {"servers=0", "servers=1.9", "servers", "bandwidth=0", "bandwidth=-1", "bandwidth=1e99", "latency=2",
          "latency=2parsec", "stripe=0", "stripe=1T", "speed=1", "raid=1", "raid=5,disks=2", "disks=0",
          "servers=4;bandwidth=1", "bandwidth=nan"}) {
        EXPECT_NE(parse_service_model(wrong, read), "") << wrong;
    }
}

TEST(ThrottledFile, IsNeverFasterThanItsModel) {
    const ServiceModel slow{
        .num_servers = 2, .bandwidth_mb_s = 50, .latency_ns = 3 * ms, .stripe_bytes = 4096};
    const FilePtr file = make_throttled(make_null("x"), slow);
    EXPECT_EQ(file->abilities().stripe_bytes, 4096);
    std::vector<std::byte> data(1'000'000);
    const double start_s = now_s();
    ASSERT_TRUE(file->write_at(data, 0).ok());
    ASSERT_EQ(file->read_at(data, 0).value(), 1'000'000);
    // 1 MB at 100 MB/s and the latency, twice.
    EXPECT_GE(now_s() - start_s, 2 * (0.0099 + 0.003));
}

TEST(ThrottledFile, OpensByPrefixOverAnyBackend) {
    register_throttled();
    const OpenMode creating = {.read = true, .write = true, .create = true};
    const std::string path = "throttled:servers=1,latency=0:memory:throttled_test";
    const Result<FilePtr> file = open_file(path, creating);
    ASSERT_TRUE(file.ok()) << file.status().text();
    EXPECT_EQ(file.value()->path(), "throttled_test");
    EXPECT_TRUE(open_file("memory:throttled_test", {}).ok());
    EXPECT_TRUE(rename_file(path, "memory:throttled_other").ok());
    EXPECT_TRUE(remove_file("throttled::memory:throttled_other").ok());
    EXPECT_EQ(open_file("throttled:servers=none:memory:x", creating).status().code(),
              ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace hakobi::storage
