// One collective write by the engine, as the engine's own code plans it (io/plan.hpp, io/descriptions.hpp,
// io/summary.hpp, io/choice.hpp), with the time that a machine needs:
//
//  1. All ranks meet, and the choice is made.
//  2. Each phase is divided; the ranks describe their requests to the aggregators, and look up who
//     contributes to what.
//  3. The phase runs (phase.hpp).
//
// A few phases of a long call are simulated, which follow each other; those between the first and the last
// of them stand for the rest.
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

/// Region::bytes_below of a block of three dimensions, on one core of an AMD EPYC.
constexpr double lookup_s = 6e-8;
/// Phases of a call that are simulated, and ranks whose descriptions are made; each stands for its
/// neighbours.
constexpr int most_phases = 6, most_described = 600;

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
         bool is_by_server, const EngineHints& hints)
        : pattern_(pattern),
          job_(job),
          machine_(machine),
          layout_(layout),
          stripes_(is_by_server ? io::FileStripes{layout.stripe_bytes, layout.num_stripes, layout.num_stripes}
                                : io::FileStripes{}),
          storage_(machine, layout, job.num_nodes()),
          hints_(hints) {
        outcome_.layout = layout;
        meet();
        choose_aggregators();
        divide();
    }

    Outcome run() {
        describe();
        // From the middle of the call: the first and the last ones may be shorter.
        const std::size_t num = std::min<std::size_t>(phases_.size(), most_phases);
        const std::size_t first = (phases_.size() - num) / 2;
        std::vector<PhaseWork> chain;
        double all_told_s = 0, chain_bytes = 0;
        for (std::size_t p = first; p < first + num; ++p) {
            chain.push_back({.domains = &phases_[p], .ranks = parts_of(phases_[p])});
            for (const RankParts& rank : chain.back().ranks)
                for (const Part& part : rank.parts) chain_bytes += static_cast<double>(part.bytes);
        }
        // The phases that are not simulated have as many parts.
        for (std::size_t p = 0; p < phases_.size(); ++p)
            all_told_s += told_s(p, chain[std::clamp(p, first, first + num - 1) - first].ranks);
        const auto num_phases = static_cast<double>(phases_.size());
        const double met_s = meeting_s(job_, machine_);
        for (PhaseWork& phase : chain) phase.told_s = met_s + all_told_s / num_phases;
        const int servers = io::most_objects_of_domain(std::max(1, stripes_.num_objects),
                                                       static_cast<int>(aggregators_.size()));
        const int requests =
            stripes_.num_objects == 0 ? io_threads_ : std::min(io_threads_, servers * server_requests_);
        Busy busy;
        const std::vector<double> stored_s = simulate_phases({.job = job_,
                                                              .machine = machine_,
                                                              .aggregators = aggregators_,
                                                              .rings = rings_,
                                                              .staging_rings = staging_rings_,
                                                              .io_threads = io_threads_,
                                                              .server_requests = server_requests_,
                                                              .requests_of_aggregator = requests,
                                                              .piece_bytes = pattern_.piece_bytes},
                                                             chain, storage_, busy);
        const auto all_bytes = static_cast<double>(pattern_.file_bytes);
        const double num_left = (all_bytes / chain_bytes - 1) * static_cast<double>(num);
        // The first one fills the buffers, and while the last one is stored no other fills them.
        const double each_s =
            num_left > 0 ? (stored_s[num - 2] - stored_s[1]) / static_cast<double>(num - 3) : 0;
        outcome_.time_s = *std::ranges::max_element(stored_s) + num_left * each_s;
        outcome_.busy += busy.times(all_bytes / chain_bytes);
        outcome_.busy.descriptions_s += all_told_s;
        // Buffers that are full at the end of the chain were stored in no phase's time.
        outcome_.time_s = std::max({outcome_.time_s, outcome_.busy.servers_s + outcome_.busy.locks_s,
                                    outcome_.busy.client_s, outcome_.busy.network_s});
        // The round that finds nothing left, and the agreement on errors.
        outcome_.time_s += 2 * met_s;
        outcome_.busy.latency_s += (num_phases + 2) * met_s;
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
        aggregators_ =
            io::choose_aggregators(ranks_of_node, hints_.cb_nodes > 0 ? hints_.cb_nodes : count, 1);
        const auto num_aggregators = static_cast<int>(aggregators_.size());
        outcome_.num_aggregators = num_aggregators;
        io::NodeBuffers buffers;
        buffers.cb_bytes = cb_bytes;
        buffers.depth = hints_.depth;
        rings_ = staging_rings_ = buffers.divided(1, 0);
        if (stripes_.num_objects == 0) return;
        const io::StripedBuffers striped = io::striped_buffers(stripes_, buffers, num_aggregators);
        rings_ = striped.rings;
        staging_rings_ = striped.staging_rings;
        server_requests_ = io::server_requests_of(stripes_, num_aggregators, hints_.server_requests);
        const int threads = io::striped_threads_of(stripes_, num_aggregators, server_requests_);
        io_threads_ = hints_.io_threads > 0 ? hints_.io_threads : threads;
    }

    void divide() {
        const io::Division division{
            .num_aggregators = static_cast<int>(aggregators_.size()),
            .num_nodes = job_.num_nodes(),
            .cb_bytes = cb_bytes,
            .depth = hints_.depth,
            .align_bytes = std::clamp(layout_.stripe_bytes, io::policy_limits::least_stripe,
                                      io::policy_limits::most_stripe),
            .highest_tag = machine_.highest_tag,
            .smallest_cycle_bytes = io::policy_limits::smallest_cycle,
            .stripe_bytes = stripes_.stripe_bytes,
            .num_objects = stripes_.num_objects,
            .num_lanes = rings_.num,
            .size_bytes = totals_.size_bytes};
        std::int64_t number = 0;
        for (std::int64_t at = totals_.begin_bytes; at < totals_.end_bytes;) {
            phases_.push_back(io::divide(at, totals_.end_bytes, division, number));
            const io::Domains& latest = phases_.back();
            number = latest.phase.is_last() ? 0 : number + 1;
            if (number == 0) at = latest.end_bytes;
        }
        outcome_.num_phases = std::ssize(phases_);
    }

    /// Every word that a sample of the ranks sends, and what it costs in a phase.
    void describe() {
        if (job_.num_nodes() == 1) {
            fill_memory();
            return;
        }
        told_.resize(phases_.size());
        std::vector<double> held(phases_.size());
        double messages = 0, words = 0;
        for (const Sample& sample : sampled_ranks(job_.num_ranks)) {
            const Region& file = pattern_.files[static_cast<std::size_t>(sample.rank)];
            io::Describer describer(file);
            double sent = 0, sent_messages = 0;
            for (std::size_t p = 0; p < phases_.size(); ++p) {
                if (phases_[p].end_bytes <= file.begin_bytes()) continue;
                if (phases_[p].begin_bytes >= file.end_bytes()) break;
                double now = 0, now_messages = 0;
                for (const io::Description& each : describer.due(phases_[p], local_index(sample.rank))) {
                    now += static_cast<double>(each.words.size());
                    ++now_messages;
                }
                Told& told = told_[p];
                told.most_messages = std::max(told.most_messages, now_messages);
                told.messages += sample.weight * now_messages;
                told.words += sample.weight * now;
                sent += now;
                sent_messages += now_messages;
                // A whole region is held until its end.
                for (std::size_t q = p; q < phases_.size() && phases_[q].begin_bytes < file.end_bytes(); ++q)
                    held[q] += sample.weight * now;
            }
            outcome_.most_words_sent = std::max(outcome_.most_words_sent, sent);
            const auto around = static_cast<double>(file.end_bytes() - file.begin_bytes());
            told_around_ += sample.weight * sent_messages / static_cast<double>(aggregators_.size()) *
                            around / static_cast<double>(totals_.end_bytes - totals_.begin_bytes);
        }
        for (std::size_t p = 0; p < phases_.size(); ++p) {
            words += told_[p].words;
            messages += told_[p].messages;
            outcome_.most_words_held = std::max(outcome_.most_words_held, held[p] / phases_[p].num_domains);
        }
        outcome_.mean_words_sent = words / job_.num_ranks;
        outcome_.mean_messages = messages / job_.num_ranks;
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
            static_cast<double>(io::NodeBuffers::bytes_needed(of_node, has_staging, cb_bytes, hints_.depth) +
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

    /// Describing the p-th phase, and then counting who contributes: each rank looks up its cycles, each
    /// aggregator those of all whose regions it holds. `ranks`: of a phase like it.
    double told_s(std::size_t p, const std::vector<RankParts>& ranks) const {
        const io::Domains& domains = phases_[p];
        const auto cycles = static_cast<double>(domains.num_cycles);
        double most_parts = 0, parts = 0;
        for (const RankParts& rank : ranks) {
            most_parts = std::max(most_parts, static_cast<double>(rank.parts.size()));
            parts += static_cast<double>(rank.parts.size());
        }
        const double own_s = 2 * lookup_s * std::min(cycles, 2 * most_parts + hints_.depth);
        if (job_.num_nodes() == 1) return own_s;
        const Told& told = told_[p];
        const double held = told.messages / domains.num_domains;
        const double words = told.words / std::max(1.0, told.messages);
        const double sent_s = told.most_messages * machine_.message_s;
        const double received_s = held * (2 * machine_.message_s + seconds(8 * words, machine_.core_rate));
        // A message of a (node, cycle) is looked up three times for each region of that node
        // (io/between_nodes.cpp), and before, which of the regions around a cycle have bytes of it, twice.
        const double held_s = lookup_s * (6 * parts + 4 * cycles * told_around_) / domains.num_domains;
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
    int server_requests_ = 1;          // of an aggregator
    std::vector<io::Domains> phases_;
    struct Told {
        double messages = 0, words = 0;
        double most_messages = 0;  // of a rank
    };
    std::vector<Told> told_;  // by phase: what is described
    double told_around_ = 0;  // regions that an aggregator holds around a cycle
    Storage storage_;
    EngineHints hints_;
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
                  bool is_by_server, const EngineHints& hints) {
    return Call(pattern, job, machine, layout, is_by_server, hints).run();
}

}  // namespace hakobi::bench::scale
