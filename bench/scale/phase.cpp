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

/// A node's ranks that contribute to a cycle.
struct Group {
    int node = 0, cycle = 0;
    int staging_ring = 0;
    std::int64_t staging_turn = -1;  // -1: the aggregator is here
    int num_expected = 0, num_in = 0;
    std::int64_t bytes = 0;
};

struct Cycle {
    int domain = -1, ring = 0;
    std::int64_t turn = 0;  // the ring's
    std::vector<int> groups;
    int num_in = 0;
    bool is_stored = false;
};

struct Aggregator {
    std::vector<std::vector<int>> rings;  // cycles by turn
    int num_idle_threads = 0;
    std::queue<int> ready;     // cycles
    std::vector<int> waiting;  // groups that are packed, and whose turn is not open
    Serial core;
};

/// A rank's parts that wait for each other: all of them, or by server those of one lane.
struct Line {
    std::vector<std::size_t> parts;
    std::size_t next = 0;
};
struct RankWork {
    std::vector<int> groups;  // by part
    std::vector<Line> lines;
    std::size_t line = 0;  // that is looked at first
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
        staging_sent_.resize(num_nodes * static_cast<std::size_t>(setting.staging_rings.num));
        blocked_.resize(num_nodes);
        work_.resize(ranks.size());
        form_groups();
        number_turns();
        form_lines();
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
            for (const std::vector<int>& ring : aggregator.rings)
                for (const int cycle : ring)
                    bytes += setting_.domains.cycle_end(cycle) - setting_.domains.cycle_begin(cycle);
            const double stream_s = seconds(static_cast<double>(bytes), setting_.machine.stream_rate);
            threads_s = std::max(threads_s, stream_s / setting_.io_threads);
        }
        double copying_s = 0;
        for (const RankWork& work : work_) copying_s = std::max(copying_s, work.core.busy_s);
        busy.memory_s += std::max({most(memory_), copying_s, aggregating_s});
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

    void form_groups() {
        const io::Domains& domains = setting_.domains;
        cycles_.resize(static_cast<std::size_t>(domains.num_cycles));
        std::unordered_map<std::int64_t, int> known;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            const int node = setting_.job.node_of(ranks_[r].rank);
            for (const Part& part : ranks_[r].parts) {
                const std::int64_t key = std::int64_t{node} * domains.num_cycles + part.cycle;
                const auto [at, is_new] = known.emplace(key, static_cast<int>(groups_.size()));
                Cycle& cycle = cycles_[static_cast<std::size_t>(part.cycle)];
                if (is_new) {
                    groups_.push_back({.node = node, .cycle = part.cycle});
                    cycle.groups.push_back(at->second);
                }
                Group& group = groups_[static_cast<std::size_t>(at->second)];
                ++group.num_expected;
                group.bytes += part.bytes;
                work_[r].groups.push_back(at->second);
            }
        }
    }

    // PhasePlan::number_turns, of all nodes.
    void number_turns() {
        const io::Domains& domains = setting_.domains;
        aggregators_.resize(static_cast<std::size_t>(domains.num_domains));
        for (Aggregator& aggregator : aggregators_) {
            aggregator.num_idle_threads = setting_.io_threads;
            aggregator.rings.resize(static_cast<std::size_t>(domains.num_lanes));
        }
        domains.for_each_in_order([&](std::int64_t c) {
            Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
            if (cycle.groups.empty()) return;
            cycle.domain = domains.domain_of(c);
            cycle.ring = domains.lane_of(c);
            std::vector<int>& ring = ring_of(cycle);
            cycle.turn = std::ssize(ring);
            ring.push_back(static_cast<int>(c));
            for (const int g : cycle.groups) {
                Group& group = groups_[static_cast<std::size_t>(g)];
                if (node_of_domain(cycle.domain) == group.node) continue;
                group.staging_ring = domains.lane_number(c) % setting_.staging_rings.num;
                std::vector<bool>& sent = staging_of(group);
                group.staging_turn = std::ssize(sent);
                sent.push_back(false);
            }
        });
    }

    void form_lines() {
        const io::Domains& domains = setting_.domains;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            std::unordered_map<int, std::size_t> line_of;
            for (std::size_t i = 0; i < ranks_[r].parts.size(); ++i) {
                const int c = ranks_[r].parts[i].cycle;
                const int lane = domains.is_by_server() ? domains.lane_number(c) : 0;
                const auto [at, is_new] = line_of.emplace(lane, work_[r].lines.size());
                if (is_new) work_[r].lines.emplace_back();
                work_[r].lines[at->second].parts.push_back(i);
            }
        }
    }

    std::vector<int>& ring_of(const Cycle& cycle) {
        return aggregators_[static_cast<std::size_t>(cycle.domain)]
            .rings[static_cast<std::size_t>(cycle.ring)];
    }
    std::vector<bool>& staging_of(const Group& group) {
        return staging_sent_[static_cast<std::size_t>(group.node * setting_.staging_rings.num +
                                                      group.staging_ring)];
    }

    // A buffer serves every num_slots-th turn of its ring.
    bool is_open(const Cycle& cycle) {
        const int num_slots = setting_.rings.num_slots;
        if (cycle.turn < num_slots) return true;
        const int before = ring_of(cycle)[static_cast<std::size_t>(cycle.turn - num_slots)];
        return cycles_[static_cast<std::size_t>(before)].is_stored;
    }
    bool may_copy(const Group& group) {
        if (group.staging_turn < 0) return is_open(cycles_[static_cast<std::size_t>(group.cycle)]);
        const int num_slots = setting_.staging_rings.num_slots;
        return group.staging_turn < num_slots ||
               staging_of(group)[static_cast<std::size_t>(group.staging_turn - num_slots)];
    }

    // Starts a part of the first lane, counted from behind the last part's, whose next part has a buffer
    // open.
    void start_part(double now_s, int r) {
        RankWork& work = work_[static_cast<std::size_t>(r)];
        bool has_parts = false;
        for (std::size_t i = 0; i < work.lines.size(); ++i) {
            const std::size_t number = (work.line + i) % work.lines.size();
            const Line& line = work.lines[number];
            if (line.next == line.parts.size()) continue;
            has_parts = true;
            const std::size_t part = line.parts[line.next];
            const Group& group = groups_[static_cast<std::size_t>(work.groups[part])];
            if (!may_copy(group)) continue;
            work.line = number;
            copy_part(now_s, r, group,
                      static_cast<double>(ranks_[static_cast<std::size_t>(r)].parts[part].bytes));
            return;
        }
        if (has_parts)
            blocked_[static_cast<std::size_t>(setting_.job.node_of(ranks_[static_cast<std::size_t>(r)].rank))]
                .push_back(r);
    }

    void copy_part(double now_s, int r, const Group& group, double bytes) {
        Serial& core = work_[static_cast<std::size_t>(r)].core;
        Serial& memory = memory_[static_cast<std::size_t>(group.node)];
        const double own_s = core.take(now_s, copy_s(setting_.machine, bytes, setting_.piece_bytes));
        push(std::max(own_s, memory.take(now_s, seconds(bytes, setting_.machine.memory_rate))), Kind::copied,
             r);
    }

    void end_part(double now_s, int r) {
        RankWork& work = work_[static_cast<std::size_t>(r)];
        Line& line = work.lines[work.line];
        const int g = work.groups[line.parts[line.next++]];
        work.line = (work.line + 1) % work.lines.size();
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
        staging_of(group)[static_cast<std::size_t>(group.staging_turn)] = true;
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
        if (++cycle.num_in < static_cast<int>(cycle.groups.size())) return;
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        aggregator.ready.push(c);
        start_access(now_s, aggregator, cycle.domain);
    }

    void start_access(double now_s, Aggregator& aggregator, int domain) {
        if (aggregator.num_idle_threads == 0 || aggregator.ready.empty()) return;
        --aggregator.num_idle_threads;
        const int c = aggregator.ready.front();
        aggregator.ready.pop();
        push(storage_.write(node_of_domain(domain), now_s, setting_.domains.cycle_begin(c),
                            setting_.domains.cycle_end(c)) +
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
    std::vector<RankWork> work_;
    std::vector<Cycle> cycles_;
    std::vector<Aggregator> aggregators_;
    std::vector<Serial> out_, in_, memory_;        // by node
    std::vector<std::vector<bool>> staging_sent_;  // by node and staging ring, and by turn
    std::vector<std::vector<int>> blocked_;        // by node: ranks whose buffer is not open
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t num_events_ = 0;
    double end_s_ = 0;
};

}  // namespace

double simulate_phase(const PhaseSetting& setting, const std::vector<RankParts>& ranks, Storage& storage,
                      Busy& busy) {
    storage.rest();
    Simulation simulation(setting, ranks, storage);
    const double time_s = simulation.run();
    simulation.add_to(busy);
    return time_s;
}

}  // namespace hakobi::bench::scale
