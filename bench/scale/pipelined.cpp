// One collective write by the engine, as the engine's own code plans it (io/plan.hpp, io/descriptions.hpp,
// io/summary.hpp, io/choice.hpp), with the time that a machine needs:
//
//  1. All ranks meet, and the choice is made.
//  2. Each phase is divided; the ranks describe their requests to the aggregators, and look up who
//     contributes to what.
//  3. The phase runs (phase.hpp).
//
// For a long call a few phases are simulated, from its beginning, middle and end, and each stands for those
// around it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "io/choice.hpp"
#include "io/descriptions.hpp"
#include "io/node_buffers.hpp"
#include "io/plan.hpp"
#include "io/policy.hpp"
#include "io/shared_control.hpp"
#include "io/striping.hpp"
#include "methods.hpp"
#include "phase.hpp"

namespace hakobi::bench::scale {
namespace {

// The engine's defaults (io/opening.cpp).
constexpr std::int64_t cb_bytes = 4 << 20;
constexpr int depth = 8;

/// Region::bytes_below of a block of three dimensions, on one core of an AMD EPYC.
constexpr double lookup_s = 6e-8;
/// Phases of a call that are simulated, and ranks whose descriptions are made; each stands for its
/// neighbours.
constexpr int most_phases = 3, most_described = 600;

double log2_of(int number) {
    return std::ceil(std::log2(std::max(2, number)));
}

struct Sample {
    int rank = 0;
    double weight = 1;
};
std::vector<Sample> sampled_ranks(int num_ranks) {
    std::mt19937_64 random(1);
    std::vector<Sample> samples;
    const int step = (num_ranks - 1) / most_described + 1;
    for (int first = 0; first < num_ranks; first += step) {
        const int weight = std::min(step, num_ranks - first);
        samples.push_back({first + static_cast<int>(random() % static_cast<unsigned>(weight)),
                           static_cast<double>(weight)});
    }
    return samples;
}

class Call {
  public:
    Call(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout,
         bool is_by_server)
        : pattern_(pattern),
          job_(job),
          machine_(machine),
          layout_(layout),
          stripes_(is_by_server ? io::FileStripes{layout.stripe_bytes, layout.num_stripes, layout.num_stripes}
                                : io::FileStripes{}),
          storage_(machine, layout, job.num_nodes()) {
        outcome_.layout = layout;
        meet();
        choose_aggregators();
        divide();
    }

    Outcome run() {
        describe();
        const int num_phases = static_cast<int>(phases_.size());
        const int num_simulated = std::min(num_phases, most_phases);
        double simulated_bytes = 0;
        Busy busy;
        double time_s = 0;
        for (int i = 0; i < num_simulated; ++i) {
            const int p = num_simulated == 1 ? 0 : i * (num_phases - 1) / (num_simulated - 1);
            const io::Domains& domains = phases_[static_cast<std::size_t>(p)];
            time_s += run_phase(domains, busy);
            simulated_bytes += static_cast<double>(domains.end_bytes - domains.begin_bytes);
        }
        const auto all_bytes = static_cast<double>(totals_.end_bytes - totals_.begin_bytes);
        outcome_.busy += busy.times(all_bytes / simulated_bytes);
        outcome_.time_s += time_s * all_bytes / simulated_bytes;
        // The round that finds nothing left, and the agreement on errors.
        outcome_.time_s += 2 * meeting_s(job_, machine_);
        outcome_.busy.latency_s += 2 * meeting_s(job_, machine_);
        return outcome_;
    }

  private:
    void meet() {
        io::ReducedSummary all;
        for (int rank = 0; rank < job_.num_ranks; ++rank) {
            const Region& file = pattern_.files[static_cast<std::size_t>(rank)];
            io::RequestSummary mine;
            mine.begin_bytes = file.begin_bytes();
            mine.end_bytes = file.end_bytes();
            mine.size_bytes = file.size_bytes();
            mine.num_pieces = file.num_pieces();
            mine.service = io::Service::waits;
            const io::ReducedSummary words = io::reduced(mine, rank);
            for (std::size_t i = 0; i < words.maxima.size(); ++i)
                all.maxima[i] = rank == 0 ? words.maxima[i] : std::max(all.maxima[i], words.maxima[i]);
            for (std::size_t i = 0; i < words.sums.size(); ++i) all.sums[i] += words.sums[i];
        }
        totals_ = io::total_of(all);
        io::FileSetting setting;
        setting.num_ranks = job_.num_ranks;
        setting.is_one_node = job_.num_nodes() == 1;
        setting.large_piece_bytes = io::large_piece_bytes(layout_.stripe_bytes, cb_bytes);
        const io::Facts facts{.is_write = true, .totals = totals_};
        is_direct_ = io::choose(setting, facts).path == io::Path::own_pieces;
    }

    void choose_aggregators() {
        std::vector<std::vector<int>> ranks_of_node(static_cast<std::size_t>(job_.num_nodes()));
        for (int rank = 0; rank < job_.num_ranks; ++rank)
            ranks_of_node[static_cast<std::size_t>(job_.node_of(rank))].push_back(rank);
        const int count = stripes_.num_objects == 0
                              ? 0
                              : io::aggregators_of(stripes_, job_.num_nodes(),
                                                   std::min(job_.ranks_per_node, job_.num_ranks));
        aggregators_ = io::choose_aggregators(ranks_of_node, count, 1);
        const auto num_aggregators = static_cast<int>(aggregators_.size());
        outcome_.num_aggregators = num_aggregators;
        io::NodeBuffers buffers;
        buffers.cb_bytes = cb_bytes;
        buffers.depth = depth;
        rings_ = staging_rings_ = buffers.divided(1, 0);
        if (stripes_.num_objects == 0) return;
        const io::StripedBuffers striped = io::striped_buffers(stripes_, buffers, num_aggregators);
        rings_ = striped.rings;
        staging_rings_ = striped.staging_rings;
        io_threads_ = io::striped_threads_of(stripes_, num_aggregators,
                                             io::server_requests_of(stripes_, cb_bytes, num_aggregators, 0));
    }

    void divide() {
        const io::Division division{
            .num_aggregators = static_cast<int>(aggregators_.size()),
            .num_nodes = job_.num_nodes(),
            .cb_bytes = cb_bytes,
            .depth = depth,
            .align_bytes = std::clamp(layout_.stripe_bytes, io::policy_limits::least_stripe,
                                      io::policy_limits::most_stripe),
            .highest_tag = machine_.highest_tag,
            .smallest_cycle_bytes = io::policy_limits::smallest_cycle,
            .stripe_bytes = stripes_.stripe_bytes,
            .num_objects = stripes_.num_objects,
            .num_lanes = rings_.num};
        for (std::int64_t at = totals_.begin_bytes; at < totals_.end_bytes; at = phases_.back().end_bytes)
            phases_.push_back(io::divide(at, totals_.end_bytes, division));
        outcome_.num_phases = std::ssize(phases_);
    }

    /// Every word that a sample of the ranks sends, and what it costs in a phase.
    void describe() {
        if (job_.num_nodes() == 1) {
            fill_memory();
            return;
        }
        double messages = 0, words = 0;
        std::vector<double> held(phases_.size());
        for (const Sample& sample : sampled_ranks(job_.num_ranks)) {
            const Region& file = pattern_.files[static_cast<std::size_t>(sample.rank)];
            io::Describer describer(file);
            double sent = 0, sent_messages = 0;
            for (std::size_t p = 0; p < phases_.size(); ++p) {
                if (phases_[p].end_bytes <= file.begin_bytes()) continue;
                if (phases_[p].begin_bytes >= file.end_bytes()) break;
                double now = 0;
                for (const io::Description& each : describer.due(phases_[p], local_index(sample.rank))) {
                    now += static_cast<double>(each.words.size());
                    ++sent_messages;
                }
                sent += now;
                // A whole region is held until its end.
                for (std::size_t q = p; q < phases_.size() && phases_[q].begin_bytes < file.end_bytes(); ++q)
                    held[q] += sample.weight * now;
            }
            words += sample.weight * sent;
            messages += sample.weight * sent_messages;
            outcome_.most_words_sent = std::max(outcome_.most_words_sent, sent);
        }
        outcome_.mean_words_sent = words / job_.num_ranks;
        outcome_.mean_messages = messages / job_.num_ranks;
        for (std::size_t p = 0; p < phases_.size(); ++p)
            outcome_.most_words_held = std::max(outcome_.most_words_held, held[p] / phases_[p].num_domains);
        fill_memory();
    }

    std::vector<int> local_index(int rank) const {
        std::vector<int> index(aggregators_.size(), -1);
        for (std::size_t d = 0; d < aggregators_.size(); ++d)
            if (job_.node_of(aggregators_[d]) == job_.node_of(rank)) index[d] = 0;
        return index;
    }

    void fill_memory() {
        const bool has_staging = job_.num_nodes() > 1;
        const int of_node = (static_cast<int>(aggregators_.size()) - 1) / job_.num_nodes() + 1;
        const int node_size = std::min(job_.ranks_per_node, job_.num_ranks);
        const auto shared =
            static_cast<double>(io::NodeBuffers::bytes_needed(of_node, has_staging, cb_bytes, depth) +
                                io::SharedControl::bytes_needed(node_size));
        outcome_.memory_of_rank = shared / node_size + 8 * outcome_.most_words_held;
    }

    std::vector<RankParts> parts_of(const io::Domains& domains) const {
        std::vector<RankParts> result;
        for (int rank = 0; rank < job_.num_ranks; ++rank) {
            const Region& file = pattern_.files[static_cast<std::size_t>(rank)];
            if (file.end_bytes() <= domains.begin_bytes || file.begin_bytes() >= domains.end_bytes) continue;
            RankParts mine{.rank = rank, .parts = {}};
            for (const io::CyclePart& part : io::parts_of(file, domains))
                mine.parts.push_back({static_cast<int>(part.cycle), part.stream_end - part.stream_begin});
            if (!mine.parts.empty()) result.push_back(std::move(mine));
        }
        return result;
    }

    double run_phase(const io::Domains& domains, Busy& busy) {
        const double met_s = meeting_s(job_, machine_);
        busy.latency_s += met_s;
        const std::vector<RankParts> ranks = parts_of(domains);
        const double told_s = describing_s(domains, ranks);
        busy.descriptions_s += told_s;
        return met_s + told_s +
               simulate_phase({.job = job_,
                               .machine = machine_,
                               .domains = domains,
                               .aggregators = aggregators_,
                               .rings = rings_,
                               .staging_rings = staging_rings_,
                               .io_threads = io_threads_,
                               .piece_bytes = pattern_.piece_bytes},
                              ranks, storage_, busy);
    }

    /// Describing, and then counting who contributes: each rank looks up its cycles, each aggregator those of
    /// all whose regions it holds.
    double describing_s(const io::Domains& domains, const std::vector<RankParts>& ranks) const {
        const auto num_active = static_cast<double>(ranks.size());
        const auto cycles = static_cast<double>(domains.num_cycles);
        double most_parts = 0, parts = 0;
        for (const RankParts& rank : ranks) {
            most_parts = std::max(most_parts, static_cast<double>(rank.parts.size()));
            parts += static_cast<double>(rank.parts.size());
        }
        const double own_s = 2 * lookup_s * std::min(cycles, 2 * most_parts + depth);
        if (job_.num_nodes() == 1) return own_s;
        const auto num_phases = static_cast<double>(phases_.size());
        const double all_messages = outcome_.mean_messages * job_.num_ranks / num_phases;
        const double sent_s = all_messages / num_active * machine_.message_s;
        const double held = all_messages / domains.num_domains;
        const double words = outcome_.mean_words_sent / std::max(1.0, outcome_.mean_messages);
        const double received_s = held * (2 * machine_.message_s + seconds(8 * words, machine_.core_rate));
        // A message of a (node, cycle) is looked up three times for each region of that node
        // (io/between_nodes.cpp).
        const double cycles_of_one = cycles / domains.num_domains;
        const double held_s =
            2 * lookup_s * held * cycles_of_one + 6 * lookup_s * parts / domains.num_domains;
        const double barrier_s = log2_of(job_.num_ranks) * machine_.network_latency_s;
        return std::max(sent_s, received_s) + 2 * machine_.network_latency_s + barrier_s +
               std::max(own_s, held_s);
    }

    const Pattern& pattern_;
    const Job& job_;
    const Machine& machine_;
    Layout layout_;
    io::FileStripes stripes_;  // none: domains are contiguous
    bool is_direct_ = false;
    io::RequestTotals totals_;
    std::vector<int> aggregators_;
    io::Rings rings_, staging_rings_;  // of an aggregator, of a node
    int io_threads_ = 4;               // of an aggregator; the engine's default
    std::vector<io::Domains> phases_;
    Storage storage_;
    Outcome outcome_;
};

}  // namespace

double meeting_s(const Job& job, const Machine& machine) {
    const double between_s = machine.network_latency_s + machine.message_s;
    const double within_s = 2 * machine.message_s;
    const int of_node = std::min(job.num_ranks, job.ranks_per_node);
    return 2 *
           ((job.num_nodes() > 1 ? log2_of(job.num_nodes()) * between_s : 0) + log2_of(of_node) * within_s);
}

Layout layout_for(const Job& job, const Machine& machine) {
    const double of_node = machine.client_rate > 0 ? machine.client_rate : machine.network_rate;
    const double wanted = job.num_nodes() * std::max(1.0, of_node / machine.server_rate);
    return {static_cast<int>(std::clamp(std::ceil(wanted), 1.0, static_cast<double>(machine.num_servers))),
            cb_bytes};
}

Outcome pipelined(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout,
                  bool is_by_server) {
    return Call(pattern, job, machine, layout, is_by_server).run();
}

}  // namespace hakobi::bench::scale
