#pragma once

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::storage {

/// A parallel file system as a service-time model: a file's bytes are striped over servers, each of which
/// serves its share of the requests one after the other at its bandwidth. Every request pays the latency
/// once; latencies of requests in flight overlap, and a server idle for want of requests does not catch up.
/// So one request in flight sees latency and bandwidth in turn, and only several reach limit_bytes_s(). A
/// server with a seek time is a disk: a request that does not begin where its last one ended keeps it busy
/// that much longer. A server may have several disks, in RAID 5 without a cache: what a write does not fill
/// of a row of their chunks is read before, with the parity, and the disks come round once more.
///
/// service_state.hpp models the way between a process and the servers (nodes and their rates, the network,
/// extent locks), read_ahead.hpp what a client reads ahead. The three headers are all of the arithmetic and
/// depend on nothing of the library: the File decorator (throttled.hpp) and the preloaded library beside it,
/// which must not link with ours, share them.
struct ServiceModel {
    static constexpr int max_servers = 4096, max_nodes = 4096;
    static constexpr std::int64_t chunk_bytes = 1 << 16;  ///< of a row, on one disk of a server

    int num_servers = 4;
    double bandwidth_mb_s = 500;          ///< of each server, in 10^6 bytes per second
    std::int64_t latency_ns = 2'000'000;  ///< of each request
    std::int64_t stripe_bytes = 1 << 20;
    std::int64_t seek_ns = 0;  ///< of a request that does not follow the last one on its server

    int num_disks = 1;   ///< of each server, which `bandwidth_mb_s` is then of
    int raid_level = 0;  ///< of a server's disks: 0 or 5
    int num_stripes =
        0;  ///< of a file that nobody has laid out; 0: all servers, and no file has a layout to ask for
    int num_nodes = 0;  ///< that ranks are divided into; 0: HAKOBI_RANKS_PER_NODE says it, or there is one
    double client_mb_s = 0;         ///< of each node; 0: no limit
    double network_mb_s = 0;        ///< of all nodes together; 0: no limit
    std::int64_t lock_bytes = 0;    ///< of a server's share of a file, in one lock; 0: no locks
    std::int64_t lock_move_ns = 0;  ///< from the end of one node's accesses under a lock to another's first
    std::int64_t ahead_bytes = 0;   ///< that a client reads ahead of a file (read_ahead.hpp)
    int slow_server = -1;           ///< none: -1
    double slow_bandwidth_mb_s = 0;
    std::int64_t slow_latency_ns = 0;
    int stalled_server = -1;  ///< none: -1
    std::int64_t stall_ns =
        0;  ///< the server stands still for so long when a file's first request reaches it

    /// Without what a slow or stalled server takes.
    [[nodiscard]] double limit_bytes_s() const {
        double limit_mb_s = bandwidth_mb_s * num_data_disks() * num_servers;
        if (client_mb_s > 0) limit_mb_s = std::min(limit_mb_s, client_mb_s * std::max(1, num_nodes));
        if (network_mb_s > 0) limit_mb_s = std::min(limit_mb_s, network_mb_s);
        return 1e6 * limit_mb_s;
    }
    /// Disks of a server without the one for parity.
    [[nodiscard]] int num_data_disks() const { return raid_level == 5 ? num_disks - 1 : num_disks; }
    [[nodiscard]] double bandwidth_of(int server) const {
        return server == slow_server && slow_bandwidth_mb_s > 0 ? slow_bandwidth_mb_s : bandwidth_mb_s;
    }
    [[nodiscard]] std::int64_t latency_of(int server) const {
        return server == slow_server ? latency_ns + slow_latency_ns : latency_ns;
    }
    [[nodiscard]] bool has_layouts() const { return num_stripes > 0; }
    friend bool operator==(const ServiceModel&, const ServiceModel&) = default;
};

/// One word of a model's text, and where its value goes.
struct ModelWord {
    enum class Kind { servers, rate, time, bytes, number };
    std::string_view name;
    Kind kind;
    int ServiceModel::*count = nullptr;
    double ServiceModel::*rate = nullptr;
    std::int64_t ServiceModel::*whole = nullptr;
};
inline constexpr std::array model_words = {
    ModelWord{"servers", ModelWord::Kind::servers, &ServiceModel::num_servers},
    ModelWord{"bandwidth", ModelWord::Kind::rate, nullptr, &ServiceModel::bandwidth_mb_s},
    ModelWord{"latency", ModelWord::Kind::time, nullptr, nullptr, &ServiceModel::latency_ns},
    ModelWord{"stripe", ModelWord::Kind::bytes, nullptr, nullptr, &ServiceModel::stripe_bytes},
    ModelWord{"seek", ModelWord::Kind::time, nullptr, nullptr, &ServiceModel::seek_ns},
    ModelWord{"disks", ModelWord::Kind::servers, &ServiceModel::num_disks},
    ModelWord{"raid", ModelWord::Kind::number, &ServiceModel::raid_level},
    ModelWord{"stripes", ModelWord::Kind::servers, &ServiceModel::num_stripes},
    ModelWord{"nodes", ModelWord::Kind::servers, &ServiceModel::num_nodes},
    ModelWord{"client", ModelWord::Kind::rate, nullptr, &ServiceModel::client_mb_s},
    ModelWord{"network", ModelWord::Kind::rate, nullptr, &ServiceModel::network_mb_s},
    ModelWord{"lock", ModelWord::Kind::bytes, nullptr, nullptr, &ServiceModel::lock_bytes},
    ModelWord{"lock_move", ModelWord::Kind::time, nullptr, nullptr, &ServiceModel::lock_move_ns},
    ModelWord{"readahead", ModelWord::Kind::bytes, nullptr, nullptr, &ServiceModel::ahead_bytes},
    ModelWord{"slow_server", ModelWord::Kind::number, &ServiceModel::slow_server},
    ModelWord{"slow_bandwidth", ModelWord::Kind::rate, nullptr, &ServiceModel::slow_bandwidth_mb_s},
    ModelWord{"slow_latency", ModelWord::Kind::time, nullptr, nullptr, &ServiceModel::slow_latency_ns},
    ModelWord{"stalled_server", ModelWord::Kind::number, &ServiceModel::stalled_server},
    ModelWord{"stall", ModelWord::Kind::time, nullptr, nullptr, &ServiceModel::stall_ns},
};

/// Sets what one word says; what is wrong with its value, or "".
inline std::string_view set_model_word(const ModelWord& word, double number, std::string_view unit,
                                       ServiceModel& model) {
    switch (word.kind) {
        case ModelWord::Kind::servers:
            if (!unit.empty() || number < 1 || number > ServiceModel::max_servers ||
                number != std::floor(number))
                return word.name == "nodes"   ? "1 to 4096 nodes"
                       : word.name == "disks" ? "1 to 4096 disks"
                                              : "1 to 4096 servers";
            model.*word.count = static_cast<int>(number);
            return {};
        case ModelWord::Kind::number:
            if (!unit.empty() || number >= ServiceModel::max_servers || number != std::floor(number))
                return "a server's number, from 0";
            model.*word.count = static_cast<int>(number);
            return {};
        case ModelWord::Kind::rate:
            if (!unit.empty() || number <= 0)
                return word.name == "bandwidth" ? "MB/s of a server, above 0" : "MB/s, above 0";
            model.*word.rate = number;
            return {};
        case ModelWord::Kind::time: {
            const double scale = unit == "s"    ? 1e9
                                 : unit == "ms" ? 1e6
                                 : unit == "us" ? 1e3
                                 : unit == "ns" ? 1
                                                : 0;
            if (scale == 0 && number > 0) return "a time with its unit: 2ms";
            if (scale * number > 1e12) return "longer than a quarter of an hour";
            model.*word.whole = static_cast<std::int64_t>(scale * number);
            return {};
        }
        case ModelWord::Kind::bytes: {
            const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : unit.empty() ? 0 : -1;
            if (shift < 0 || number < 1 || number > 1e6) return "a size: 65536, 64K, 1M";
            model.*word.whole = static_cast<std::int64_t>(number) << shift;
            return {};
        }
    }
    return {};
}

/// Reads "servers=4,bandwidth=500,latency=2ms,stripe=1M" over the defaults above; times take s, ms, us or ns,
/// sizes K, M or G (powers of 1024). Returns what is wrong with the text, or "".
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
        const auto word = std::ranges::find(model_words, name, &ModelWord::name);
        if (word == model_words.end()) {
            std::string names = "the names are";
            for (const ModelWord& known : model_words)
                names.append(known.name == model_words.front().name ? " " : ", ").append(known.name);
            return wrong(names);
        }
        if (const std::string_view why = set_model_word(*word, number, unit, model); !why.empty())
            return wrong(why);
    }
    if (std::max(model.slow_server, model.stalled_server) >= model.num_servers)
        return "slow_server and stalled_server are numbers below servers";
    if (model.raid_level != 0 && (model.raid_level != 5 || model.num_disks < 3))
        return "raid is 0, or 5 with 3 disks or more";
    if (model.num_stripes > model.num_servers) return "a file's stripes are no more than the servers";
    return {};
}

/// How a file lies on the servers: object k, of the bytes of every num_stripes-th stripe, on server
/// first_server + k.
struct FileStriping {
    std::int64_t stripe_bytes = 1 << 20;
    int num_stripes = 1;
    int first_server = 0;

    /// For a model without layouts: all files alike on all servers.
    [[nodiscard]] static FileStriping whole(const ServiceModel& model) {
        return {model.stripe_bytes, model.num_servers, 0};
    }
    [[nodiscard]] int server_of(int object, const ServiceModel& model) const {
        return (first_server + object) % model.num_servers;
    }
    /// Bytes of [0, end_bytes) that are in an object.
    [[nodiscard]] std::int64_t bytes_in_object(std::int64_t end_bytes, int object) const {
        const std::int64_t round = stripe_bytes * num_stripes;
        return end_bytes / round * stripe_bytes +
               std::clamp(end_bytes % round - object * stripe_bytes, std::int64_t{0}, stripe_bytes);
    }
};

/// Bytes of [0, end_bytes) that lie on `server`, of a file that lies on all of them.
[[nodiscard]] inline std::int64_t bytes_on_server(const ServiceModel& model, std::int64_t end_bytes,
                                                  int server) {
    return FileStriping::whole(model).bytes_in_object(end_bytes, server);
}

/// The state that all requests to the servers share; fresh zeros are a valid state, as are times that have
/// passed. The updates are lock-free, so a process that dies in between leaves nothing locked.
struct Server {
    std::atomic<std::int64_t> free_ns;    ///< until when it is taken
    std::atomic<std::uint64_t> position;  ///< where its last request ended, mixed with the file's identity
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

/// Takes what is free from `now_ns` on, one after the other, for `busy_ns`; returns when that is over.
inline std::int64_t take_turn(std::atomic<std::int64_t>& free_ns, std::int64_t now_ns, std::int64_t busy_ns) {
    std::int64_t seen = free_ns.load(), end = 0;
    do {
        end = std::max(seen, now_ns) + busy_ns;
    } while (!free_ns.compare_exchange_weak(seen, end));
    return end;
}

[[nodiscard]] inline std::int64_t transfer_ns(std::int64_t bytes, double mb_s) {
    return static_cast<std::int64_t>(1e3 * static_cast<double>(bytes) / mb_s);
}

/// A server's part of a request: when it came, when its turn did, when it was done.
struct Served {
    int server = 0;
    std::int64_t arrival_ns = 0, begin_ns = 0, end_ns = 0;
};

/// How long the disks of a server move bytes, and how often they come round in between.
struct DiskWork {
    std::int64_t busy_ns = 0;
    int num_turns = 0;
};

/// For [begin, end) of a server's share of a file.
[[nodiscard]] inline DiskWork disk_work(const ServiceModel& model, int server, std::int64_t begin,
                                        std::int64_t end, bool is_write) {
    const auto moved_ns = [&](std::int64_t bytes) {
        const std::int64_t chunks = (bytes + ServiceModel::chunk_bytes - 1) / ServiceModel::chunk_bytes;
        const auto disks = std::clamp<std::int64_t>(chunks, 1, model.num_data_disks());
        return transfer_ns(bytes, model.bandwidth_of(server) * static_cast<double>(disks));
    };
    if (!is_write || model.raid_level != 5) return {moved_ns(end - begin)};
    const std::int64_t row_bytes = ServiceModel::chunk_bytes * model.num_data_disks();
    const std::int64_t first_row = std::min(end, (begin + row_bytes - 1) / row_bytes * row_bytes);
    const std::int64_t rows_end = std::max(first_row, end / row_bytes * row_bytes);
    DiskWork work{moved_ns(rows_end - first_row)};
    for (const std::int64_t bytes : {first_row - begin, end - rows_end}) {
        if (bytes == 0) continue;
        work.busy_ns += 2 * moved_ns(bytes);  // read, written
        ++work.num_turns;
    }
    return work;
}

/// Queues a request to the file `identity` that arrives at `now_ns` and returns when the model completes it;
/// what each server has of it is added to `log`.
inline std::int64_t queue_request(const ServiceModel& model, std::span<Server> servers,
                                  std::uint64_t identity, const FileStriping& striping, std::int64_t now_ns,
                                  std::int64_t offset, std::int64_t length, bool is_write = false,
                                  std::vector<Served>* log = nullptr) {
    std::int64_t completed_ns = now_ns + (length > 0 ? 0 : model.latency_ns);
    const std::int64_t first_stripe = offset / striping.stripe_bytes;
    const std::int64_t num_stripes =
        length > 0 ? (offset + length - 1) / striping.stripe_bytes - first_stripe + 1 : 0;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(num_stripes, striping.num_stripes); ++i) {
        const int object = static_cast<int>((first_stripe + i) % striping.num_stripes);
        const int number = striping.server_of(object, model);
        Server& server = servers[static_cast<std::size_t>(number)];
        const std::int64_t begin_bytes = striping.bytes_in_object(offset, object);
        const std::int64_t end_bytes = striping.bytes_in_object(offset + length, object);
        const DiskWork work = disk_work(model, number, begin_bytes, end_bytes, is_write);
        std::int64_t service_ns = work.busy_ns + work.num_turns * model.seek_ns;
        if (model.seek_ns > 0) {
            const std::uint64_t place = identity * 11400714819323198485U;
            const std::uint64_t last =
                server.position.exchange(place + static_cast<std::uint64_t>(end_bytes));
            if (last != place + static_cast<std::uint64_t>(begin_bytes)) service_ns += model.seek_ns;
        }
        const std::int64_t served_ns = take_turn(server.free_ns, now_ns, service_ns);
        if (log != nullptr) log->push_back({number, now_ns, served_ns - service_ns, served_ns});
        completed_ns = std::max(completed_ns, served_ns + model.latency_of(number));
    }
    return completed_ns;
}
inline std::int64_t queue_request(const ServiceModel& model, std::span<Server> servers,
                                  std::uint64_t identity, std::int64_t now_ns, std::int64_t offset,
                                  std::int64_t length) {
    return queue_request(model, servers, identity, FileStriping::whole(model), now_ns, offset, length);
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
