#pragma once

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hakobi::storage {

/// A parallel file system as a service-time model: a file's bytes are striped over servers, each of which
/// serves its share of the requests one after the other at its bandwidth. Every request pays the latency
/// once; latencies of requests in flight overlap, and a server idle for want of requests does not catch up.
/// So one request in flight sees latency and bandwidth in turn, and only several reach limit_bytes_s(). A server
/// with a seek time is a disk: a request that does not begin where its last one ended keeps it busy that much longer.
///
/// This header is all of the arithmetic and depends on nothing of the library: the File decorator
/// (throttled.hpp) and the preloaded library beside it, which must not link with ours, share it.
struct ServiceModel {
    static constexpr int max_servers = 4096;

    int num_servers = 4;
    double bandwidth_mb_s = 500;          ///< of each server, in 10^6 bytes per second
    std::int64_t latency_ns = 2'000'000;  ///< of each request
    std::int64_t stripe_bytes = 1 << 20;
    std::int64_t seek_ns = 0;  ///< of a request that does not follow the last one on its server

    [[nodiscard]] double limit_bytes_s() const { return 1e6 * bandwidth_mb_s * num_servers; }
};

/// Reads "servers=4,bandwidth=500,latency=2ms,stripe=1M" over the defaults above; latency and seek take s, ms,
/// us or ns, stripe takes K, M or G (powers of 1024). Returns what is wrong with the text, or "".
inline std::string parse_service_model(std::string_view text, ServiceModel& model) {
    while (!text.empty()) {
        const std::string_view item = text.substr(0, text.find(','));
        text.remove_prefix(std::min(text.size(), item.size() + 1));
        const std::size_t equals = item.find('=');
        const std::string_view name = item.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? "" : item.substr(equals + 1);
        double number = 0;
        const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
        const std::string_view unit(end, static_cast<std::size_t>(value.data() + value.size() - end));
        const auto wrong = [&](std::string_view why) {
            return std::string("'").append(item).append("': ").append(why);
        };
        if (error != std::errc() || !(number >= 0) || number > 1e15) return wrong("not name=number");
        if (name == "servers") {
            if (!unit.empty() || number < 1 || number > ServiceModel::max_servers ||
                number != std::floor(number))
                return wrong("1 to 4096 servers");
            model.num_servers = static_cast<int>(number);
        } else if (name == "bandwidth") {
            if (!unit.empty() || number <= 0) return wrong("MB/s of a server, above 0");
            model.bandwidth_mb_s = number;
        } else if (name == "latency" || name == "seek") {
            const double scale = unit == "s"    ? 1e9
                                 : unit == "ms" ? 1e6
                                 : unit == "us" ? 1e3
                                 : unit == "ns" ? 1
                                                : 0;
            if (scale == 0 && number > 0) return wrong("a time with its unit: 2ms");
            if (scale * number > 1e12) return wrong("longer than a quarter of an hour");
            (name == "seek" ? model.seek_ns : model.latency_ns) = static_cast<std::int64_t>(scale * number);
        } else if (name == "stripe") {
            const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : unit.empty() ? 0 : -1;
            if (shift < 0 || number < 1 || number > 1e6) return wrong("a size: 65536, 64K, 1M");
            model.stripe_bytes = static_cast<std::int64_t>(number) << shift;
        } else {
            return wrong("the names are servers, bandwidth, latency, stripe, seek");
        }
    }
    return {};
}

/// Bytes of [0, end_bytes) that lie on `server`.
[[nodiscard]] inline std::int64_t bytes_on_server(const ServiceModel& model, std::int64_t end_bytes,
                                                  int server) {
    const std::int64_t round = model.stripe_bytes * model.num_servers;
    return end_bytes / round * model.stripe_bytes +
           std::clamp(end_bytes % round - server * model.stripe_bytes, std::int64_t{0}, model.stripe_bytes);
}

/// What all requests to the servers share; fresh zeros are a valid state, as are times that have passed. The updates
/// are lock-free, so a process that dies in between leaves nothing locked.
struct Server {
    std::atomic<std::int64_t> free_ns;    ///< until when it is taken
    std::atomic<std::uint64_t> position;  ///< where its last request ended, mixed with the file's identity
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Queues a request to the file `identity` that arrives at `now_ns` and returns when the model completes it.
inline std::int64_t queue_request(const ServiceModel& model, std::span<Server> servers,
                                  std::uint64_t identity, std::int64_t now_ns, std::int64_t offset,
                                  std::int64_t length) {
    std::int64_t served_ns = now_ns;
    const std::int64_t first_stripe = offset / model.stripe_bytes;
    const std::int64_t num_stripes =
        length > 0 ? (offset + length - 1) / model.stripe_bytes - first_stripe + 1 : 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(num_stripes, model.num_servers); ++i) {
        const int number = static_cast<int>((first_stripe + i) % model.num_servers);
        Server& server = servers[static_cast<std::size_t>(number)];
        const std::int64_t begin_bytes = bytes_on_server(model, offset, number);
        const std::int64_t end_bytes = bytes_on_server(model, offset + length, number);
        auto service_ns = static_cast<std::int64_t>(1e3 * static_cast<double>(end_bytes - begin_bytes) /
                                                    model.bandwidth_mb_s);
        if (model.seek_ns > 0) {
            const std::uint64_t place = identity * 11400714819323198485U;
            const std::uint64_t last =
                server.position.exchange(place + static_cast<std::uint64_t>(end_bytes));
            if (last != place + static_cast<std::uint64_t>(begin_bytes)) service_ns += model.seek_ns;
        }
        std::int64_t seen = server.free_ns.load();
        std::int64_t end = 0;
        do {
            end = std::max(seen, now_ns) + service_ns;
        } while (!server.free_ns.compare_exchange_weak(seen, end));
        served_ns = std::max(served_ns, end);
    }
    return served_ns + model.latency_ns;
}

/// The monotonic clock, as now_s() has it, in nanoseconds.
[[nodiscard]] inline std::int64_t monotonic_ns() {
    timespec time{};
    ::clock_gettime(CLOCK_MONOTONIC, &time);
    return std::int64_t{1'000'000'000} * time.tv_sec + time.tv_nsec;
}

/// Sleeps until the monotonic clock shows `time_ns`, with the thread's timer slack at its least.
inline void sleep_until_ns(std::int64_t time_ns) {
    if (monotonic_ns() >= time_ns) return;
    thread_local const int slack_set = ::prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
    (void)slack_set;
    const timespec time{.tv_sec = time_ns / 1'000'000'000, .tv_nsec = time_ns % 1'000'000'000};
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
    }
}

}  // namespace hakobi::storage
