#include "phase.hpp"

#include <algorithm>
#include <deque>
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
    int phase = 0;
    int staging_ring = 0;
    std::int64_t staging_turn = -1;  // -1: the aggregator is here
    int num_expected = 0, num_in = 0;
    std::int64_t bytes = 0;
};

struct Cycle {
    int domain = -1, ring = 0, object = -1;
    std::int64_t begin_bytes = 0, end_bytes = 0;
    std::int64_t turn = 0;  // the ring's
    std::vector<int> groups;
    int num_in = 0;
    bool is_stored = false;
};

struct Aggregator {
    std::vector<std::vector<int>> rings;  // cycles by turn
    int num_idle_threads = 0;
    std::deque<int> ready;                       // cycles
    std::unordered_map<int, int> num_in_flight;  // by object
    std::vector<int> waiting;                    // groups that are packed, and whose turn is not open
    Serial core, port;                           // its rank's copies; its messages
};

/// A rank's parts that wait for each other: all of them, or by server those of one lane.
struct Line {
    std::vector<std::size_t> parts;
    std::size_t next = 0;
};
struct RankWork {
    int rank = 0;
    std::vector<double> bytes;
    std::vector<int> groups;  // by part
    std::vector<Line> lines;
    std::size_t line = 0;  // that is looked at first
    Serial core;
};

class Simulation {
  public:
    Simulation(const PhaseSetting& setting, const std::vector<PhaseWork>& phases, Storage& storage)
        : setting_(setting), phases_(phases), storage_(storage) {
        const auto num_nodes = static_cast<std::size_t>(setting.job.num_nodes());
        for (auto* each : {&out_, &in_, &memory_, &cores_}) each->resize(num_nodes);
        staging_sent_.resize(num_nodes * static_cast<std::size_t>(setting.staging_rings.num));
        blocked_.resize(num_nodes);
        aggregators_.resize(setting.aggregators.size());
        for (Aggregator& aggregator : aggregators_) {
            aggregator.num_idle_threads = setting.io_threads;
            aggregator.rings.resize(static_cast<std::size_t>(setting.rings.num));
        }
        num_left_.resize(phases.size());
        stored_s_.resize(phases.size());
        for (std::size_t p = 0; p < phases.size(); ++p) {
            const int first_cycle = static_cast<int>(cycles_.size());
            first_work_.push_back(work_.size());
            form_groups(static_cast<int>(p));
            number_turns(*phases[p].domains, first_cycle);
            form_lines(phases[p], first_work_[p]);
        }
        first_work_.push_back(work_.size());
    }

    std::vector<double> run() {
        push(phases_.front().told_s, Kind::phase, 0);
        while (!events_.empty()) {
            const auto [time_s, number, kind, id] = events_.top();
            events_.pop();
            switch (kind) {
                case Kind::phase:
                    start_phase(time_s, static_cast<std::size_t>(id));
                    break;
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
                    contribute(time_s, id);
                    break;
                case Kind::stored:
                    stored(time_s, id);
                    break;
            }
        }
        return stored_s_;
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
            aggregating_s = std::max({aggregating_s, aggregator.core.busy_s, aggregator.port.busy_s});
            std::int64_t bytes = 0;
            for (const std::vector<int>& ring : aggregator.rings)
                for (const int c : ring) {
                    const Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
                    bytes += cycle.end_bytes - cycle.begin_bytes;
                }
            const double stream_s = seconds(static_cast<double>(bytes), setting_.machine.stream_rate);
            threads_s = std::max(threads_s, stream_s / setting_.requests_of_aggregator);
        }
        double copying_s = 0;
        std::unordered_map<int, double> copying_of;
        for (std::size_t p = 0; p < phases_.size(); ++p)
            for (std::size_t r = 0; r < phases_[p].ranks.size(); ++r)
                copying_s = std::max(
                    copying_s, copying_of[phases_[p].ranks[r].rank] += work_[first_work_[p] + r].core.busy_s);
        busy.memory_s += std::max(most(memory_), copying_s);
        busy.cores_s += most(cores_);
        busy.aggregator_s += std::max(aggregating_s, threads_s);
        storage_.add_to(busy);
    }

  private:
    enum class Kind { phase, rank, copied, arrived, in, stored };
    // The number keeps events of one time in the order in which they were made.
    using Event = std::tuple<double, std::int64_t, Kind, int>;

    void push(double time_s, Kind kind, int id) { events_.emplace(time_s, num_events_++, kind, id); }

    int node_of_domain(int domain) const {
        return setting_.job.node_of(setting_.aggregators[static_cast<std::size_t>(domain)]);
    }

    void form_groups(int p) {
        const PhaseWork& phase = phases_[static_cast<std::size_t>(p)];
        const io::Domains& domains = *phase.domains;
        const auto first_cycle = static_cast<int>(cycles_.size());
        cycles_.resize(cycles_.size() + static_cast<std::size_t>(domains.num_cycles));
        std::unordered_map<std::int64_t, int> known;
        for (const RankParts& rank : phase.ranks) {
            const int node = setting_.job.node_of(rank.rank);
            RankWork& work = work_.emplace_back();
            work.rank = rank.rank;
            for (const Part& part : rank.parts) {
                work.bytes.push_back(static_cast<double>(part.bytes));
                const std::int64_t key = std::int64_t{node} * domains.num_cycles + part.cycle;
                const auto [at, is_new] = known.emplace(key, static_cast<int>(groups_.size()));
                Cycle& cycle = cycles_[static_cast<std::size_t>(first_cycle + part.cycle)];
                if (is_new) {
                    groups_.push_back({.node = node, .cycle = first_cycle + part.cycle, .phase = p});
                    cycle.groups.push_back(at->second);
                    ++num_left_[static_cast<std::size_t>(p)];
                }
                Group& group = groups_[static_cast<std::size_t>(at->second)];
                ++group.num_expected;
                group.bytes += part.bytes;
                work.groups.push_back(at->second);
            }
        }
    }

    // PhasePlan::number_turns, of all nodes.
    void number_turns(const io::Domains& domains, int first_cycle) {
        domains.for_each_in_order([&](std::int64_t c) {
            const auto at = static_cast<std::size_t>(first_cycle + c);
            Cycle& cycle = cycles_[at];
            if (cycle.groups.empty()) return;
            cycle.domain = domains.domain_of(c);
            cycle.ring = domains.lane_of(c);
            cycle.object = domains.object_of(c);
            cycle.begin_bytes = domains.cycle_begin(c);
            cycle.end_bytes = domains.cycle_end(c);
            std::vector<int>& ring = ring_of(cycle);
            cycle.turn = std::ssize(ring);
            ring.push_back(static_cast<int>(at));
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

    void form_lines(const PhaseWork& phase, std::size_t first_work) {
        const io::Domains& domains = *phase.domains;
        for (std::size_t r = 0; r < phase.ranks.size(); ++r) {
            RankWork& work = work_[first_work + r];
            std::unordered_map<int, std::size_t> line_of;
            for (std::size_t i = 0; i < phase.ranks[r].parts.size(); ++i) {
                const int c = phase.ranks[r].parts[i].cycle;
                const int lane = domains.is_by_server() ? domains.lane_number(c) : 0;
                const auto [at, is_new] = line_of.emplace(lane, work.lines.size());
                if (is_new) work.lines.emplace_back();
                work.lines[at->second].parts.push_back(i);
            }
        }
    }

    void start_phase(double now_s, std::size_t p) {
        for (std::size_t w = first_work_[p]; w < first_work_[p + 1]; ++w)
            push(now_s, Kind::rank, static_cast<int>(w));
        if (num_left_[p] == 0) end_phase(now_s, p);
    }
    // All of its contributions are in.
    void end_phase(double now_s, std::size_t p) {
        if (p + 1 < phases_.size()) push(now_s + phases_[p + 1].told_s, Kind::phase, static_cast<int>(p + 1));
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
            copy_part(now_s, r, group, work.bytes[part]);
            return;
        }
        if (has_parts) blocked_[static_cast<std::size_t>(setting_.job.node_of(work.rank))].push_back(r);
    }

    void copy_part(double now_s, int r, const Group& group, double bytes) {
        Serial& core = work_[static_cast<std::size_t>(r)].core;
        Serial& memory = memory_[static_cast<std::size_t>(group.node)];
        const double length_s = copy_s(setting_.machine, bytes, setting_.piece_bytes);
        push(std::max({core.take(now_s, length_s),
                       memory.take(now_s, seconds(bytes, setting_.machine.memory_rate)),
                       use_cores(now_s, group.node, length_s)}),
             Kind::copied, r);
    }

    // A node's processor time: all of its cores are one resource.
    double use_cores(double now_s, int node, double length_s) {
        if (setting_.machine.cores == 0) return now_s;
        return cores_[static_cast<std::size_t>(node)].take(now_s, length_s / setting_.machine.cores);
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
            contribute(now_s, g);
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
        Serial& port = aggregators_[static_cast<std::size_t>(cycle.domain)].port;
        const double received_s =
            port.take(now_s, seconds(static_cast<double>(group.bytes), setting_.machine.rank_rate));
        push(std::max({sent_s, in.take(now_s, length_s), received_s}) + setting_.machine.network_latency_s,
             Kind::arrived, g);
    }

    void unpack(double now_s, int g) {
        const Group& group = groups_[static_cast<std::size_t>(g)];
        staging_of(group)[static_cast<std::size_t>(group.staging_turn)] = true;
        wake(now_s, group.node);
        const Cycle& cycle = cycles_[static_cast<std::size_t>(group.cycle)];
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        const auto bytes = static_cast<double>(group.bytes);
        const int node = node_of_domain(cycle.domain);
        const double length_s =
            copy_s(setting_.machine, bytes, setting_.piece_bytes) + setting_.machine.message_s;
        Serial& memory = memory_[static_cast<std::size_t>(node)];
        push(std::max({aggregator.core.take(now_s, length_s),
                       memory.take(now_s, seconds(bytes, setting_.machine.memory_rate)),
                       use_cores(now_s, node, length_s)}),
             Kind::in, g);
    }

    void wake(double now_s, int node) {
        std::vector<int> woken;
        woken.swap(blocked_[static_cast<std::size_t>(node)]);
        for (const int r : woken) push(now_s, Kind::rank, r);
    }

    void contribute(double now_s, int g) {
        const Group& group = groups_[static_cast<std::size_t>(g)];
        const auto p = static_cast<std::size_t>(group.phase);
        if (--num_left_[p] == 0) end_phase(now_s, p);
        const int c = group.cycle;
        Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
        if (++cycle.num_in < static_cast<int>(cycle.groups.size())) return;
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        aggregator.ready.push_back(c);
        start_access(now_s, aggregator, cycle.domain);
    }

    void start_access(double now_s, Aggregator& aggregator, int domain) {
        if (aggregator.num_idle_threads == 0) return;
        const auto found = std::ranges::find_if(aggregator.ready, [&](int c) {
            const int object = cycles_[static_cast<std::size_t>(c)].object;
            return object < 0 || aggregator.num_in_flight[object] < setting_.server_requests;
        });
        if (found == aggregator.ready.end()) return;
        --aggregator.num_idle_threads;
        const int c = *found;
        aggregator.ready.erase(found);
        ++aggregator.num_in_flight[cycles_[static_cast<std::size_t>(c)].object];
        const Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
        const int node = node_of_domain(domain);
        const double written_s = storage_.write(node, now_s, cycle.begin_bytes, cycle.end_bytes);
        const double cpu_s =
            static_cast<double>(cycle.end_bytes - cycle.begin_bytes) * setting_.machine.byte_cpu_s;
        push(std::max(written_s, use_cores(now_s, node, cpu_s)) + setting_.machine.storage_latency_s,
             Kind::stored, c);
    }

    void stored(double now_s, int c) {
        Cycle& cycle = cycles_[static_cast<std::size_t>(c)];
        cycle.is_stored = true;
        const Group& group = groups_[static_cast<std::size_t>(cycle.groups.front())];
        stored_s_[static_cast<std::size_t>(group.phase)] = now_s;
        Aggregator& aggregator = aggregators_[static_cast<std::size_t>(cycle.domain)];
        ++aggregator.num_idle_threads;
        --aggregator.num_in_flight[cycle.object];
        start_access(now_s, aggregator, cycle.domain);
        std::vector<int> waiting;
        waiting.swap(aggregator.waiting);
        for (const int g : waiting) send(now_s, g);
        wake(now_s, node_of_domain(cycle.domain));
    }

    const PhaseSetting& setting_;
    const std::vector<PhaseWork>& phases_;
    Storage& storage_;
    std::vector<std::size_t> first_work_;  // by phase, and behind the last
    std::vector<std::int64_t> num_left_;   // by phase
    std::vector<double> stored_s_;         // by phase
    std::vector<Group> groups_;
    std::vector<RankWork> work_;
    std::vector<Cycle> cycles_;
    std::vector<Aggregator> aggregators_;
    std::vector<Serial> out_, in_, memory_, cores_;  // by node
    std::vector<std::vector<bool>> staging_sent_;    // by node and staging ring, and by turn
    std::vector<std::vector<int>> blocked_;          // by node: ranks whose buffer is not open
    std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
    std::int64_t num_events_ = 0;
};

}  // namespace

std::vector<double> simulate_phases(const PhaseSetting& setting, const std::vector<PhaseWork>& phases,
                                    Storage& storage, Busy& busy) {
    storage.rest();
    Simulation simulation(setting, phases, storage);
    std::vector<double> stored_s = simulation.run();
    simulation.add_to(busy);
    return stored_s;
}

}  // namespace hakobi::bench::scale
