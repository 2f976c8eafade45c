#include "io/server_watch.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <utility>

#include "base/classic_locale.hpp"
#include "io/policy.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

ServerWatch::ServerWatch(std::vector<int> servers, int most_requests)
    : most_requests_(std::max(1, most_requests)) {
    std::map<int, std::size_t> known;
    for (const int server : servers) {
        const auto [at, is_new] = known.try_emplace(server, servers_.size());
        if (is_new) servers_.push_back({{server}, {}, {}});
        index_.push_back(at->second);
    }
    servers_.push_back({{-1}, {}, {}});  // of what has no object
}

ServerWatch::Server& ServerWatch::server_of(int object) {
    const bool is_known = object >= 0 && object < std::ssize(index_);
    return is_known ? servers_[index_[static_cast<std::size_t>(object)]] : servers_.back();
}

bool ServerWatch::begin(storage::Request& request, int object, double now_s) {
    const std::scoped_lock lock(mutex_);
    if (first_s_ == 0) first_s_ = now_s;
    Server& server = server_of(object);
    if (std::ssize(server.in_flight) >= most_requests_) {
        server.waiting.push_back(&request);
        return false;
    }
    server.in_flight.push_back({&request, now_s});
    return true;
}

void ServerWatch::Server::count(double seconds, std::int64_t num_bytes, double until_s) {
    ++times.num_requests;
    times.num_bytes += num_bytes;
    times.seconds += seconds;
    times.longest_s = std::max(times.longest_s, seconds);
    times.until_s = std::max(times.until_s, until_s);
}

ServerWatch::Ended ServerWatch::end(const storage::Request& request, std::int64_t num_bytes, double now_s) {
    const std::scoped_lock lock(mutex_);
    for (Server& server : servers_) {
        const auto found = std::ranges::find(server.in_flight, &request, &InFlight::request);
        if (found == server.in_flight.end()) continue;
        server.count(now_s - found->since_s, num_bytes, now_s - first_s_);
        server.in_flight.erase(found);
        if (server.waiting.empty()) return {};
        storage::Request* const next = server.waiting.front();
        server.waiting.pop_front();
        server.in_flight.push_back({next, now_s});
        return {false, next};
    }
    return {true, nullptr};
}

std::vector<ServerWatch::Late> ServerWatch::take_late(double least_s, double now_s) {
    std::vector<Late> late;
    const std::scoped_lock lock(mutex_);
    for (Server& server : servers_) {
        const std::size_t num_before = late.size();
        std::erase_if(server.in_flight, [&](const InFlight& each) {
            const double waited_s = now_s - each.since_s;
            if (waited_s < least_s) return false;
            late.push_back({server.times.server, waited_s, each.request});
            server.count(waited_s, 0, now_s - first_s_);
            return true;
        });
        if (late.size() == num_before) continue;
        for (storage::Request* const waiting : server.waiting)
            late.push_back({server.times.server, 0, waiting});
        server.waiting.clear();
    }
    return late;
}

std::vector<ServerWatch::Late> ServerWatch::newly_late(double least_s, double now_s) {
    std::vector<Late> late;
    const std::scoped_lock lock(mutex_);
    for (Server& server : servers_) {
        bool is_told = false;  // of this server once
        for (InFlight& each : server.in_flight) {
            if (now_s - each.since_s < least_s || std::exchange(each.is_told, true)) continue;
            if (!std::exchange(is_told, true))
                late.push_back({server.times.server, now_s - each.since_s, each.request});
        }
    }
    return late;
}

std::vector<ServerTimes> ServerWatch::times(double now_s) const {
    std::vector<ServerTimes> times;
    const std::scoped_lock lock(mutex_);
    for (const Server& server : servers_) {
        ServerTimes one = server.times;
        for (const InFlight& each : server.in_flight) {
            ++one.num_requests;
            one.seconds += now_s - each.since_s;
            one.longest_s = std::max(one.longest_s, now_s - each.since_s);
            one.until_s = now_s - first_s_;
        }
        if (one.num_requests > 0) times.push_back(one);
    }
    return times;
}

std::string name_of_server(std::int64_t server) {
    return server >= 0 ? "server " + std::to_string(server) : std::string("the storage");
}

std::vector<ServerTimes> summed(const std::vector<ServerTimes>& all) {
    std::map<std::int64_t, ServerTimes> by_server;
    for (const ServerTimes& each : all) {
        ServerTimes& sum = by_server.try_emplace(each.server, ServerTimes{each.server}).first->second;
        sum.num_requests += each.num_requests;
        sum.num_bytes += each.num_bytes;
        sum.seconds += each.seconds;
        sum.longest_s = std::max(sum.longest_s, each.longest_s);
        sum.until_s = std::max(sum.until_s, each.until_s);
    }
    std::vector<ServerTimes> sums;
    for (const auto& [server, times] : by_server) sums.push_back(times);
    return sums;
}

namespace {

/// The mean request of all servers but this one; 0 without any.
double mean_of_others_s(const std::vector<ServerTimes>& servers, std::int64_t but) {
    ServerTimes others;
    for (const ServerTimes& each : servers) {
        if (each.server == but) continue;
        others.num_requests += each.num_requests;
        others.seconds += each.seconds;
    }
    return others.mean_s();
}

}  // namespace

std::vector<ServerTimes> late_of(const std::vector<ServerTimes>& servers) {
    std::vector<ServerTimes> late;
    for (const ServerTimes& each : servers) {
        const double others_s = mean_of_others_s(servers, each.server);
        if (each.longest_s >= policy_limits::late_s && each.longest_s >= policy_limits::late_times * others_s)
            late.push_back(each);
    }
    std::ranges::sort(late, std::ranges::greater{}, &ServerTimes::longest_s);
    return late;
}

std::string words_of_late(const std::vector<ServerTimes>& servers) {
    const ClassicLocale classic;
    const std::vector<ServerTimes> late = late_of(servers);
    std::string text;
    for (const ServerTimes& each : late) {
        char words[160];
        std::snprintf(words, sizeof words, " took %.1f s for a request", each.longest_s);
        text.append(text.empty() ? "" : "; ").append(name_of_server(each.server)).append(words);
        const double others_s = mean_of_others_s(servers, each.server);
        if (others_s == 0) continue;
        std::snprintf(words, sizeof words, ", the others %.3f s on average", others_s);
        text.append(words);
    }
    return text;
}

}  // namespace hakobi::io
