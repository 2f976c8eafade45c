#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <hakobi/error.hpp>
#include <hakobi/topology.hpp>
#include <limits>
#include <numeric>
#include <optional>
#include <set>

#include "base/checked.hpp"
#include "base/classic_locale.hpp"
#include "base/guard.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "mpi/nonblocking.hpp"
#include "mpi/reordered.hpp"

namespace hakobi {
namespace {

/// The places of a grid and what goes over each of its faces.
class Grid {
  public:
    Grid(std::span<const int> ranks, std::span<const std::int64_t> weights,
         const std::vector<bool>& is_periodic)
        : ranks_(ranks.begin(), ranks.end()),
          weights_(weights.begin(), weights.end()),
          is_periodic_(is_periodic) {
        weights_.resize(ranks_.size(), 1);
        is_periodic_.resize(ranks_.size());
    }
    [[nodiscard]] std::size_t num_places() const {
        std::size_t num = 1;
        for (const int n : ranks_) num *= static_cast<std::size_t>(n);
        return num;
    }
    /// Calls `visit(place, neighbour above it, weight)` for every face between two places.
    template <class Visit>
    void each_face(Visit visit) const {
        std::size_t step = 1;
        for (std::size_t d = ranks_.size(); d-- > 0; step *= static_cast<std::size_t>(ranks_[d])) {
            const auto n = static_cast<std::size_t>(ranks_[d]);
            for (std::size_t place = 0; place < num_places(); ++place) {
                const std::size_t at = place / step % n;
                if (at + 1 < n) {
                    visit(place, place + step, weights_[d]);
                } else if (is_periodic_[d]) {
                    visit(place, place - at * step, weights_[d]);
                }
            }
        }
    }
    /// Places in an order of which every stretch is compact: halved again and again across what is cheapest
    /// to cut.
    [[nodiscard]] std::vector<std::size_t> compact_order() const {
        std::vector<std::size_t> order;
        halve(std::vector<int>(ranks_.size(), 0), ranks_, order);
        return order;
    }
    /// Places block after block; `block` divides the grid.
    [[nodiscard]] std::vector<std::size_t> block_order(const std::vector<int>& block) const {
        std::vector<std::size_t> order;
        std::vector<int> begin(ranks_.size(), 0);
        each_block(block, 0, begin, [&] { halve(begin, block, order); });
        return order;
    }
    /// All blocks of so many places that divide the grid.
    [[nodiscard]] std::vector<std::vector<int>> blocks_of(int num) const {
        std::vector<std::vector<int>> all;
        std::vector<int> block(ranks_.size(), 1);
        const auto go = [&](const auto& self, std::size_t d, int left) -> void {
            if (d == block.size()) {
                if (left == 1) all.push_back(block);
                return;
            }
            for (int n = 1; n <= left; ++n) {
                if (left % n != 0 || ranks_[d] % n != 0) continue;
                block[d] = n;
                self(self, d + 1, left / n);
            }
        };
        go(go, 0, num);
        return all;
    }

  private:
    [[nodiscard]] std::size_t place_of(const std::vector<int>& at) const {
        std::size_t place = 0;
        for (std::size_t d = 0; d < at.size(); ++d)
            place = place * static_cast<std::size_t>(ranks_[d]) + static_cast<std::size_t>(at[d]);
        return place;
    }
    void halve(const std::vector<int>& begin, const std::vector<int>& count,
               std::vector<std::size_t>& order) const {
        std::size_t best = 0;
        double best_cut = std::numeric_limits<double>::max();
        for (std::size_t d = 0; d < count.size(); ++d) {
            const double cut = static_cast<double>(weights_[d]) / count[d];
            if (count[d] > 1 && cut < best_cut) best = d, best_cut = cut;
        }
        if (count[best] <= 1) {
            order.push_back(place_of(begin));
            return;
        }
        std::vector<int> low = count, high = count, middle = begin;
        low[best] = (count[best] + 1) / 2;
        high[best] = count[best] - low[best];
        middle[best] += low[best];
        halve(begin, low, order);
        halve(middle, high, order);
    }
    template <class Visit>
    void each_block(const std::vector<int>& block, std::size_t d, std::vector<int>& begin,
                    Visit visit) const {
        if (d == block.size()) return visit();
        for (begin[d] = 0; begin[d] < ranks_[d]; begin[d] += block[d]) each_block(block, d + 1, begin, visit);
    }

    std::vector<int> ranks_;
    std::vector<std::int64_t> weights_;
    std::vector<bool> is_periodic_;
};

int own_socket() {
    const std::string path =
        "/sys/devices/system/cpu/cpu" + std::to_string(sched_getcpu()) + "/topology/physical_package_id";
    std::ifstream file(path);
    int socket = 0;
    return file >> socket && socket >= 0 ? socket : 0;
}

[[noreturn]] void refuse_topology(const std::string& text) {
    throw Error(ErrorCode::invalid_argument, "Topology: " + text);
}

}  // namespace

Topology Topology::discover(const Comm& comm) {
    std::int64_t mine[] = {comm.node(), 0};
    mpi::agree_or_throw(comm, guarded("Topology::discover", [&] { mine[1] = own_socket(); }));
    const std::vector<std::int64_t> all = mpi::all_gather(comm, mine);
    Topology topology;
    for (std::size_t i = 0; i < all.size(); i += 2) {
        topology.nodes_.push_back(static_cast<int>(all[i]));
        topology.sockets_.push_back(static_cast<int>(all[i + 1]));
    }
    return topology;
}

Topology Topology::declare(std::span<const int> nodes, std::span<const int> sockets) {
    if (nodes.empty()) refuse_topology("no rank");
    if (!sockets.empty() && sockets.size() != nodes.size()) refuse_topology("a socket for some ranks only");
    for (const int number : nodes)
        if (number < 0) refuse_topology("a node's number is negative");
    for (const int number : sockets)
        if (number < 0) refuse_topology("a socket's number is negative");
    Topology topology;
    topology.nodes_.assign(nodes.begin(), nodes.end());
    topology.sockets_.assign(sockets.begin(), sockets.end());
    topology.sockets_.resize(nodes.size(), 0);
    return topology;
}

int Topology::num_nodes() const noexcept {
    return static_cast<int>(std::set<int>(nodes_.begin(), nodes_.end()).size());
}

Reordering Topology::reorder(std::span<const int> ranks, std::span<const std::int64_t> weights,
                             const std::vector<bool>& is_periodic) const {
    for (const int n : ranks)
        if (n < 1) refuse_topology("a grid with " + std::to_string(n) + " ranks in a dimension");
    if ((!weights.empty() && weights.size() != ranks.size()) ||
        (!is_periodic.empty() && is_periodic.size() != ranks.size())) {
        refuse_topology("weights and is_periodic need one entry a dimension, or none");
    }
    const Grid grid(ranks, weights, is_periodic);
    std::optional<std::int64_t> num_places = 1, most_weight = 0;
    for (const int n : ranks) num_places = num_places ? checked_multiply(*num_places, n) : std::nullopt;
    if (ranks.empty() || num_places != std::ssize(nodes_)) {
        refuse_topology("a grid of " + (num_places ? std::to_string(*num_places) : "more than 2^63") +
                        " places for " + std::to_string(nodes_.size()) + " ranks");
    }
    // All faces, twice.
    for (const std::int64_t weight : weights) {
        if (weight < 0) refuse_topology("a weight is negative");
        most_weight = most_weight ? checked_add(*most_weight, weight) : std::nullopt;
    }
    if (!most_weight || !checked_multiply(*most_weight, 2 * *num_places))
        refuse_topology("weights add up to 2^63 or more");
    // A node's ranks follow each other, a socket's within them: any stretch of a compact order suits them.
    std::vector<int> by_node(nodes_.size());
    std::iota(by_node.begin(), by_node.end(), 0);
    std::stable_sort(by_node.begin(), by_node.end(), [&](int a, int b) {
        return std::pair(node_of(a), socket_of(a)) < std::pair(node_of(b), socket_of(b));
    });
    Reordering best;
    best.rank_at.resize(nodes_.size());
    std::iota(best.rank_at.begin(), best.rank_at.end(), 0);
    const auto between = [&](const std::vector<int>& rank_at, bool of_sockets) {
        std::int64_t sum = 0;
        grid.each_face([&](std::size_t low, std::size_t high, std::int64_t weight) {
            const int a = rank_at[low], b = rank_at[high];
            if (node_of(a) != node_of(b) || (of_sockets && socket_of(a) != socket_of(b))) sum += 2 * weight;
        });
        return sum;
    };
    grid.each_face([&](std::size_t, std::size_t, std::int64_t weight) { best.total += 2 * weight; });
    best.between_nodes_before = best.between_nodes_after = between(best.rank_at, false);
    std::int64_t best_sockets = between(best.rank_at, true);
    const auto consider = [&](const std::vector<std::size_t>& order) {
        std::vector<int> rank_at(nodes_.size());
        for (std::size_t i = 0; i < order.size(); ++i) rank_at[order[i]] = by_node[i];
        const std::int64_t nodes = between(rank_at, false), sockets = between(rank_at, true);
        if (std::pair(nodes, sockets) >= std::pair(best.between_nodes_after, best_sockets)) return;
        best.rank_at = std::move(rank_at);
        best.between_nodes_after = nodes;
        best_sockets = sockets;
    };
    consider(grid.compact_order());
    const auto node_size = static_cast<int>(std::count(nodes_.begin(), nodes_.end(), nodes_.front()));
    for (const std::vector<int>& block : grid.blocks_of(node_size)) consider(grid.block_order(block));
    return best;
}

std::string Reordering::text() const {
    const double less = between_nodes_before == 0
                            ? 0.0
                            : 100.0 * static_cast<double>(between_nodes_before - between_nodes_after) /
                                  static_cast<double>(between_nodes_before);
    const ClassicLocale classic;
    char line[160];
    std::snprintf(line, sizeof line, "between nodes: %lld of %lld instead of %lld (%.0f %% less)",
                  static_cast<long long>(between_nodes_after), static_cast<long long>(total),
                  static_cast<long long>(between_nodes_before), less);
    return line;
}

Comm v0::reordered(const Comm& comm, const Reordering& reordering) {
    const auto at = std::find(reordering.rank_at.begin(), reordering.rank_at.end(), comm.rank());
    Status local;
    if (at == reordering.rank_at.end() || reordering.rank_at.size() != static_cast<std::size_t>(comm.size()))
        local = {ErrorCode::invalid_argument,
                 "reordered: the reordering is not one of this communicator's ranks"};
    mpi::agree_or_throw(comm, local);
    return mpi::reordered(comm, static_cast<int>(at - reordering.rank_at.begin()));
}

}  // namespace hakobi
