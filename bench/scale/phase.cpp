#include "phase.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace hakobi::bench::scale {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();

/// A resource that does one thing after the other.
struct Serial {
    double free_s = 0, busy_s = 0;
    double take(double now_s, double length_s) {
        busy_s += length_s;
        free_s = std::max(free_s, now_s) + length_s;
        return free_s;
    }
};

/// What a node's ranks have of a cycle.
struct Group {
    int node = 0, cycle = 0;
    std::int64_t staging_turn = -1;  // -1: the aggregator is here
    int num_expected = 0, num_in = 0;
    std::int64_t bytes = 0;
};

struct Cycle {
    int domain = -1;
    std::int64_t turn = 0;  // its aggregator's
    int num_expected = 0, num_in = 0;
    bool is_stored = false;
};

struct Aggregator {
    std::vector<int> cycles;  // by turn
    int num_idle_threads = 0;
    std::queue<int> ready;     // cycles
    std::vector<int> waiting;  // groups that are packed, and whose turn is not open
    Serial core;
};

class Simulation {
  public:
    Simulation(const PhaseSetting& setting, const std::vector<RankParts>& ranks, Storage& storage)
        : setting_(setting), ranks_(ranks), storage_(storage) {
        const auto num_nodes = static_cast<std::size_t>(setting.job.num_nodes());
        out_.resize(num_nodes);
        in_.resize(num_nodes);
        memory_.resize(num_nodes);
        staging_sent_.resize(num_nodes);
        blocked_.resize(num_nodes);
        next_part_.resize(ranks.size());
        cores_.resize(ranks.size());
        number_turns();
    }

    double run() {
        for (std::size_t r = 0; r < ranks_.size(); ++r) push(0, Kind::rank, static_cast<int>(r));
        while (!events_.empty()) {
            const auto [time_s, number, kind, id] = events_.top();
            events_.pop();
            end_s_ = std::max(end_s_, time_s);
            switch (kind) {
                case Kind::rank:
                    start_part(time_s, id);
                    break;
                case Kind::copied:
                    end_part(time_s, id);
                    break;
                case Kind::arrived:
                    unpack(time_s, id);
                    break;
                case Kind::in:
                    contribute(time_s, groups_[static_cast<std::size_t>(id)].cycle);
                    break;
                case Kind::stored:
                    stored(time_s, id);
                    break;
            }
        }
        return end_s_;
    }

    void add_to(Busy& busy) const {
        const auto most = [](const auto& all) {
            double most_s = 0;
            for (const Serial& one : all) most_s = std::max(most_s, one.busy_s);
            return most_s;
        };
        busy.network_s += std::max(most(out_), most(in_));
        double aggregating_s = 0, threads_s = 0;
        for (const Aggregator& aggregator : aggregators_) {
            aggregating_s = std::max(aggregating_s, aggregator.core.busy_s);
            std::int64_t bytes = 0;
            for (const int cycle : aggregator.cycles)
                bytes +=
                    setting_.owners.domains.cycle_end(cycle) - setting_.owners.domains.cycle_begin(cycle);
            const double stream_s = seconds(static_cast<double>(bytes), setting_.machine.stream_rate);
            threads_s = std::max(threads_s, stream_s / setting_.io_threads);
        }
        busy.memory_s += std::max({most(memory_), most(cores_), aggregating_s});
        Busy stored;
        storage_.add_to(stored);
        stored.client_s = std::max(stored.client_s, threads_s);
        busy += stored;
    }

  private:
    enum class Kind { rank, copied, arrived, in, stored };
    // The number keeps events of one time in the order in which they were made.
    using Event = std::tuple<double, std::int64_t, Kind, int>;

    void push(double time_s, Kind kind, int id) { events_.emplace(time_s, num_events_++, kind, id); }

    int node_of_domain(int domain) const {
        return setting_.job.node_of(setting_.aggregators[static_cast<std::size_t>(domain)]);
    }

    // PhasePlan::number_turns: the first cycle of every domain, then the second of every domain, …
    void number_turns() {
        const Owners& owners = setting_.owners;
        const io::Domains& domains = owners.domains;
        cycles_.resize(static_cast<std::size_t>(domains.num_cycles));
        aggregators_.resize(static_cast<std::size_t>(owners.num_owners()));
        group_of_.resize(ranks_.size());
        std::unordered_map<std::int64_t, int> known;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const int node = setting_.job.node_of(ranks_[r].rank);
            for (const Part& part : ranks_[r].parts) {
                const std::int64_t key = std::int64_t{node} * domains.num_cycles + part.cycle;
                const auto [at, is_new] = known.emplace(key, static_cast<int>(groups_.size()));
                if (is_new) {
                    groups_.push_back({.node = node, .cycle = part.cycle});
                    ++cycles_[static_cast<std::size_t>(part.cycle)].num_expected;
                }
                Group& group = groups_[static_cast<std::size_t>(at->second)];
                ++group.num_expected;
                group.bytes += part.bytes;
                group_of_[r].push_back(at->second);
            }
        }
        std::vector<int> order;
        for (int c = 0; c < static_cast<int>(domains.num_cycles); ++c)
            if (cycles_[static_cast<std::size_t>(c)].num_expected > 0) order.push_back(c);
        std::ranges::stable_sort(order, {}, [&](int c) { return owners.place_of(c); });
        std::vector<std::int64_t> place(cycles_.size());
        for (std::size_t i = 0; i < order.size(); ++i) {
            const int c = order[i];
            place[static_cast<std::size_t>(c)] = static_cast<std::int64_t>(i);
            Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
            cycle.domain = owners.owner_of(c);
            Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
            cycle.turn = std::ssize(aggregator.cycles);
            aggregator.cycles.push_back(c);
        }
        for (Aggregator& aggregator : aggregators_) aggregator.num_idle_threads = setting_.io_threads;
        std::vector<int> by_place(groups_.size());
        for (std::size_t g = 0; g < groups_.size(); ++g) by_place[g] = static_cast<int>(g);
        std::ranges::sort(by_place, {}, [&](int g) {
            return place[static_cast<std::size_t>(groups_[static_cast<std::size_t>(g)].cycle)];
        });
        for (const int g : by_place) {
            Group& group = groups_[static_cast<std::size_t>(g)];
            auto& sent = staging_sent_[static_cast<std::size_t>(group.node)];
            if (node_of_domain(cycles_[static_cast<std::size_t>(group.cycle)].domain) == group.node) continue;
            group.staging_turn = std::ssize(sent);
            sent.push_back(false);
        }
    }

    // A buffer serves the turn `depth` behind its last one.
    bool is_open(const Cycle& cycle) const {
        if (cycle.turn < setting_.depth) return true;
        const Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        const int before = aggregator.cycles[static_cast<std::size_t>(cycle.turn - setting_.depth)];
        return cycles_[static_cast<std::size_t>(before)].is_stored;
    }
    bool may_copy(const Group& group) const {
        if (group.staging_turn < 0) return is_open(cycles_[static_cast<std::size_t>(group.cycle)]);
        const auto& sent = staging_sent_[static_cast<std::size_t>(group.node)];
        return group.staging_turn < setting_.depth ||
               sent[static_cast<std::size_t>(group.staging_turn - setting_.depth)];
    }

    void start_part(double now_s, int r) {
        const auto at = static_cast<std::size_t>(r);
        if (next_part_[at] == group_of_[at].size()) return;
        const Group& group = groups_[static_cast<std::size_t>(group_of_[at][next_part_[at]])];
        const auto node = static_cast<std::size_t>(group.node);
        if (!may_copy(group)) {
            blocked_[node].push_back(r);
            return;
        }
        const auto bytes = static_cast<double>(ranks_[at].parts[next_part_[at]].bytes);
        const double own_s = cores_[at].take(now_s, copy_s(setting_.machine, bytes, setting_.piece_bytes));
        push(std::max(own_s, memory_[node].take(now_s, seconds(bytes, setting_.machine.memory_rate))),
             Kind::copied, r);
    }

    void end_part(double now_s, int r) {
        const auto at = static_cast<std::size_t>(r);
        const int g = group_of_[at][next_part_[at]++];
        push(now_s, Kind::rank, r);
        Group& group = groups_[static_cast<std::size_t>(g)];
        if (++group.num_in < group.num_expected) return;
        if (group.staging_turn < 0) {
            contribute(now_s, group.cycle);
        } else {
            send(now_s, g);
        }
    }

    void send(double now_s, int g) {
        const Group& group = groups_[static_cast<std::size_t>(g)];
        const Cycle& cycle = cycles_[static_cast<std::size_t>(group.cycle)];
        if (!is_open(cycle)) {
            aggregators_[static_cast<std::size_t>(cycle.domain)].waiting.push_back(g);
            return;
        }
        const double length_s = seconds(static_cast<double>(group.bytes), setting_.machine.network_rate) +
                                setting_.machine.message_s;
        Serial& out = out_[static_cast<std::size_t>(group.node)];
        Serial& in = in_[static_cast<std::size_t>(node_of_domain(cycle.domain))];
        const double sent_s = out.take(now_s, length_s);
        push(std::max(sent_s, in.take(now_s, length_s)) + setting_.machine.network_latency_s, Kind::arrived,
             g);
    }

    void unpack(double now_s, int g) {
        const Group& group = groups_[static_cast<std::size_t>(g)];
        staging_sent_[static_cast<std::size_t>(group.node)][static_cast<std::size_t>(group.staging_turn)] =
            true;
        wake(now_s, group.node);
        const Cycle& cycle = cycles_[static_cast<std::size_t>(group.cycle)];
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        const auto bytes = static_cast<double>(group.bytes);
        const double own_s = aggregator.core.take(
            now_s, copy_s(setting_.machine, bytes, setting_.piece_bytes) + setting_.machine.message_s);
        Serial& memory = memory_[static_cast<std::size_t>(node_of_domain(cycle.domain))];
        push(std::max(own_s, memory.take(now_s, seconds(bytes, setting_.machine.memory_rate))), Kind::in, g);
    }

    void wake(double now_s, int node) {
        std::vector<int> woken;
        woken.swap(blocked_[static_cast<std::size_t>(node)]);
        for (const int r : woken) push(now_s, Kind::rank, r);
    }

    void contribute(double now_s, int c) {
        Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
        if (++cycle.num_in < cycle.num_expected) return;
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        aggregator.ready.push(c);
        start_access(now_s, aggregator, cycle.domain);
    }

    void start_access(double now_s, Aggregator& aggregator, int domain) {
        if (aggregator.num_idle_threads == 0 || aggregator.ready.empty()) return;
        --aggregator.num_idle_threads;
        const int c = aggregator.ready.front();
        aggregator.ready.pop();
        push(storage_.write(node_of_domain(domain), now_s, setting_.owners.domains.cycle_begin(c),
                            setting_.owners.domains.cycle_end(c)) +
                 setting_.machine.storage_latency_s,
             Kind::stored, c);
    }

    void stored(double now_s, int c) {
        Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
        cycle.is_stored = true;
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        ++aggregator.num_idle_threads;
        start_access(now_s, aggregator, cycle.domain);
        std::vector<int> waiting;
        waiting.swap(aggregator.waiting);
        for (const int g : waiting) send(now_s, g);
        wake(now_s, node_of_domain(cycle.domain));
    }

    const PhaseSetting& setting_;
    const std::vector<RankParts>& ranks_;
    Storage& storage_;
    std::vector<Group> groups_;
    std::vector<std::vector<int>> group_of_;  // by rank and part
    std::vector<Cycle> cycles_;
    std::vector<Aggregator> aggregators_;
    std::vector<std::size_t> next_part_;           // by rank
    std::vector<Serial> cores_;                    // by rank
    std::vector<Serial> out_, in_, memory_;        // by node
    std::vector<std::vector<bool>> staging_sent_;  // by node and staging turn
    std::vector<std::vector<int>> blocked_;        // by node: ranks whose buffer is not open
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t num_events_ = 0;
    double end_s_ = 0;
};

}  // namespace

Owners::InObject Owners::in_object(std::int64_t cycle) const {
    const std::int64_t first = domains.base_bytes / domains.cycle_bytes, stripe = first + cycle;
    const std::int64_t object = stripe % num_objects;
    const std::int64_t own_first = (object - first % num_objects + num_objects) % num_objects;
    return {object, (cycle - own_first) / num_objects,
            (domains.num_cycles - own_first - 1) / num_objects + 1};
}

int Owners::owner_of(std::int64_t cycle) const {
    if (num_objects == 0) return domains.domain_of(cycle);
    const InObject at = in_object(cycle);
    if (num_by_server <= num_objects) return static_cast<int>(at.object * num_by_server / num_objects);
    const std::int64_t of_object = num_by_server / num_objects;
    return static_cast<int>(at.object * of_object + at.index * of_object / at.num);
}

std::int64_t Owners::place_of(std::int64_t cycle) const {
    if (num_objects == 0)
        return cycle % domains.cycles_per_domain * domains.num_domains + domains.domain_of(cycle);
    const InObject at = in_object(cycle);
    const std::int64_t of_object = std::max(1, num_by_server / num_objects);
    // The owner's part begins at the first index that is its own.
    const std::int64_t part = at.index * of_object / at.num;
    const std::int64_t round = at.index - (part * at.num + of_object - 1) / of_object;
    return round * domains.num_cycles + cycle;
}

double simulate_phase(const PhaseSetting& setting, const std::vector<RankParts>& ranks, Storage& storage,
                      Busy& busy) {
    storage.rest();
    Simulation simulation(setting, ranks, storage);
    const double time_s = simulation.run();
    simulation.add_to(busy);
    return time_s;
}

}  // namespace hakobi::bench::scale
