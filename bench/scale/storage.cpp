#include "storage.hpp"

#include <algorithm>
#include <iterator>

#include "storage_model/service_model.hpp"

namespace hakobi::bench::scale {

Storage::Storage(const Machine& machine, const Layout& layout, int num_nodes)
    : machine_(machine),
      layout_(layout),
      free_s_(static_cast<std::size_t>(layout.num_stripes)),
      data_s_(free_s_.size()),
      locks_s_(free_s_.size()),
      holders_(free_s_.size()),
      client_free_s_(static_cast<std::size_t>(num_nodes)),
      client_busy_s_(client_free_s_.size()) {}

double Storage::serve(std::size_t server, int node, double now_s, std::int64_t at_bytes, double bytes) {
    std::map<std::int64_t, int>& holders = holders_[server];
    const auto behind = holders.upper_bound(at_bytes);
    const bool follows_own = behind != holders.begin() && std::prev(behind)->second == node;
    const bool precedes_own = behind != holders.end() && behind->second == node;
    const double lock_s = holders.empty() || follows_own || precedes_own ? 0 : machine_.lock_s;
    if (!follows_own) holders[at_bytes] = node;
    const double data_s = seconds(bytes, machine_.server_rate);
    data_s_[server] += data_s;
    locks_s_[server] += lock_s;
    free_s_[server] = std::max(free_s_[server], now_s) + lock_s + data_s;
    return free_s_[server];
}

double Storage::write(int node, double now_s, std::int64_t begin_bytes, std::int64_t end_bytes) {
    storage::ServiceModel model;
    model.num_servers = layout_.num_stripes;
    model.stripe_bytes = layout_.stripe_bytes;
    const auto bytes = static_cast<double>(end_bytes - begin_bytes);
    const auto n = static_cast<std::size_t>(node);
    const double client_s = seconds(bytes, machine_.client_rate);
    client_busy_s_[n] += client_s;
    client_free_s_[n] = std::max(client_free_s_[n], now_s) + client_s;
    double end_s = std::max(client_free_s_[n], now_s + seconds(bytes, machine_.stream_rate));
    const std::int64_t first = begin_bytes / layout_.stripe_bytes;
    const std::int64_t num = (end_bytes - 1) / layout_.stripe_bytes - first + 1;
    for (std::int64_t i = 0; i < std::min<std::int64_t>(num, layout_.num_stripes); ++i) {
        const auto server = static_cast<std::size_t>((first + i) % layout_.num_stripes);
        const std::int64_t part = storage::bytes_on_server(model, end_bytes, static_cast<int>(server)) -
                                  storage::bytes_on_server(model, begin_bytes, static_cast<int>(server));
        end_s = std::max(end_s, serve(server, node, now_s, begin_bytes, static_cast<double>(part)));
    }
    return end_s;
}

double Storage::write_small(int node, int num_writers, double count, double bytes, double moved_share) {
    double& client_s = client_busy_s_[static_cast<std::size_t>(node)];
    client_s += seconds(num_writers * count * bytes, machine_.client_rate);
    const double data_s = seconds(bytes, machine_.server_rate), lock_s = moved_share * machine_.lock_s;
    const double each_s =
        std::max(seconds(bytes, machine_.stream_rate), data_s + lock_s) + machine_.storage_latency_s;
    const double of_server = num_writers * count / static_cast<double>(free_s_.size());
    double end_s = std::max(count * each_s, client_s);
    for (std::size_t server = 0; server < free_s_.size(); ++server) {
        data_s_[server] += of_server * data_s;
        locks_s_[server] += of_server * lock_s;
        end_s = std::max(end_s, data_s_[server] + locks_s_[server]);
    }
    return end_s;
}

void Storage::rest() {
    for (auto* times : {&free_s_, &data_s_, &locks_s_, &client_free_s_, &client_busy_s_})
        std::ranges::fill(*times, 0.0);
}

void Storage::add_to(Busy& busy) const {
    busy.servers_s += std::ranges::max(data_s_);
    busy.locks_s += std::ranges::max(locks_s_);
    busy.client_s += std::ranges::max(client_busy_s_);
}

}  // namespace hakobi::bench::scale
