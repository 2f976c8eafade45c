// The two-phase algorithm of ROMIO (Thakur, Gropp, Lusk 1999), in which exchange and file access take turns:
//
//  1. Ranks send the offsets and lengths of their pieces to the aggregators that own them: one a node, with
//     the range in equal parts, or, where the library knows stripes, one a stripe and at most one a node,
//     with stripes in turn.
//  2. A round: all tell all how much they send (MPI_Alltoall), ranks send, aggregators receive, and each
//     writes at most a buffer of 16 MiB, one access at a time. The next round begins when all have written.
//
// If there are many rounds, a few are simulated. Where no rank's range begins before the last one's ends,
// there is no exchange: each rank writes its own.
#include <algorithm>
#include <cmath>

#include "methods.hpp"
#include "storage.hpp"

namespace hakobi::bench::scale {
namespace {

constexpr std::int64_t buffer_bytes = 16 << 20;  // cb_buffer_size
/// An aggregator's work for one piece of its buffer, beside its copy: ROMIO merges the ranks' lists by a
/// heap, and receives by datatypes. Fitted to three runs at once (decision 55).
constexpr double merge_s = 1.75e-7;
constexpr int most_rounds = 6, most_looked_at = 400;

struct Window {
    int aggregator = 0;
    std::int64_t begin_bytes = 0, end_bytes = 0;
};

int num_aggregators_of(const Job& job, const Machine& machine, const Layout& layout) {
    if (!machine.is_aggregated_by_stripe) return job.num_nodes();
    int count = std::min(job.num_nodes(), layout.num_stripes);
    while (layout.num_stripes % count != 0) --count;  // each has whole servers
    return count;
}

/// ROMIO's question (ad_write_coll.c): does a rank begin before the one before it ends?
bool are_interleaved(const Pattern& pattern) {
    for (std::size_t rank = 1; rank < pattern.files.size(); ++rank)
        if (pattern.files[rank].begin_bytes() < pattern.files[rank - 1].end_bytes()) return true;
    return false;
}

Outcome own_ranges(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout) {
    Storage storage(machine, layout, job.num_nodes());
    Outcome outcome;
    outcome.layout = layout;
    outcome.num_aggregators = job.num_ranks;
    double of_thread_s = 0;
    for (int rank = 0; rank < job.num_ranks; ++rank) {
        const Region& file = pattern.files[static_cast<std::size_t>(rank)];
        if (file.empty()) continue;
        outcome.time_s = std::max(outcome.time_s,
                                  storage.write(job.node_of(rank), 0, file.begin_bytes(), file.end_bytes()));
        of_thread_s =
            std::max(of_thread_s, seconds(static_cast<double>(file.size_bytes()), machine.stream_rate));
    }
    storage.add_to(outcome.busy);
    outcome.busy.client_s = std::max(outcome.busy.client_s, of_thread_s);
    outcome.busy.latency_s = machine.storage_latency_s + 3 * meeting_s(job, machine);
    outcome.time_s += outcome.busy.latency_s;
    return outcome;
}

class Rounds {
  public:
    Rounds(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout)
        : pattern_(pattern),
          job_(job),
          machine_(machine),
          layout_(layout),
          storage_(machine, layout, job.num_nodes()),
          num_aggregators_(num_aggregators_of(job, machine, layout)) {
        domain_bytes_ = (pattern.file_bytes - 1) / num_aggregators_ + 1;
        num_rounds_ = (domain_bytes_ - 1) / buffer_bytes + 1;
        stripes_at_once_ = std::max<std::int64_t>(1, buffer_bytes / layout.stripe_bytes);
        if (machine.is_aggregated_by_stripe) {
            const std::int64_t turn_bytes = num_aggregators_ * stripes_at_once_ * layout.stripe_bytes;
            const std::int64_t rounds_of_turn =
                (std::max<std::int64_t>(layout.stripe_bytes, buffer_bytes) - 1) / buffer_bytes + 1;
            num_rounds_ = ((pattern.file_bytes - 1) / turn_bytes + 1) * rounds_of_turn;
        }
    }

    Outcome run() {
        Outcome outcome;
        outcome.layout = layout_;
        outcome.num_aggregators = num_aggregators_;
        outcome.num_phases = num_rounds_;
        const auto pieces = static_cast<double>(pattern_.files.front().num_pieces());
        outcome.mean_words_sent = outcome.most_words_sent = 2 * pieces;
        const double all_pieces = pieces * job_.num_ranks;
        outcome.most_words_held = 2 * all_pieces / num_aggregators_;
        outcome.memory_of_rank = 8 * (outcome.mean_words_sent + outcome.most_words_held) +
                                 static_cast<double>(buffer_bytes) / job_.ranks_per_node;
        outcome.mean_messages = std::min<double>(num_aggregators_, pieces);
        // Lists of pieces, and who sends whom how many.
        const double lists_s = all_to_all_s() + seconds(8 * outcome.most_words_held, machine_.network_rate) +
                               outcome.mean_messages * machine_.message_s;
        outcome.busy.descriptions_s += lists_s;
        const double met_s = 3 * meeting_s(job_, machine_);
        outcome.busy.latency_s += met_s;
        outcome.time_s = lists_s + met_s;

        const auto num = static_cast<int>(std::min<std::int64_t>(num_rounds_, most_rounds));
        double time_s = 0, bytes = 0;
        Busy busy;
        for (int i = 0; i < num; ++i) {
            const std::int64_t round = num == 1 ? 0 : i * (num_rounds_ - 1) / (num - 1);
            time_s += run_round(windows_of(round), busy, bytes);
        }
        const double factor = static_cast<double>(pattern_.file_bytes) / bytes;
        outcome.time_s += time_s * factor;
        outcome.busy += busy.times(factor);
        return outcome;
    }

  private:
    std::vector<Window> windows_of(std::int64_t round) const {
        std::vector<Window> windows;
        const std::int64_t file_bytes = pattern_.file_bytes;
        if (!machine_.is_aggregated_by_stripe) {
            for (int a = 0; a < num_aggregators_; ++a) {
                const std::int64_t begin = a * domain_bytes_ + round * buffer_bytes;
                const std::int64_t end =
                    std::min({begin + buffer_bytes, (a + 1) * domain_bytes_, file_bytes});
                if (begin < end) windows.push_back({a, begin, end});
            }
            return windows;
        }
        // A round is a turn of stripes for each buffer, or, where a stripe is longer than a buffer, a part of
        // one.
        const std::int64_t cut = std::min(layout_.stripe_bytes, buffer_bytes);
        const std::int64_t cuts_of_stripe = (layout_.stripe_bytes - 1) / cut + 1;
        const std::int64_t num = num_aggregators_ * stripes_at_once_;
        const std::int64_t first_stripe = round / cuts_of_stripe * num;
        for (std::int64_t stripe = first_stripe; stripe < first_stripe + num; ++stripe) {
            const std::int64_t begin = stripe * layout_.stripe_bytes + round % cuts_of_stripe * cut;
            const std::int64_t end = std::min({begin + cut, (stripe + 1) * layout_.stripe_bytes, file_bytes});
            if (begin < end) windows.push_back({static_cast<int>(stripe % num_aggregators_), begin, end});
        }
        return windows;
    }

    double all_to_all_s() const {
        const double steps = std::ceil(std::log2(std::max(2, job_.num_ranks)));
        const double each_s = machine_.network_latency_s + machine_.message_s;
        return steps * (each_s + seconds(4.0 * job_.num_ranks / 2, machine_.network_rate));
    }

    int node_of(int aggregator) const {
        return static_cast<int>(static_cast<std::int64_t>(aggregator) * job_.num_nodes() / num_aggregators_);
    }

    double run_round(const std::vector<Window>& windows, Busy& busy, double& all_bytes) {
        const double counts_s = all_to_all_s();
        const double exchanged_s = exchange(windows, busy);
        storage_.rest();
        std::vector<double> ends_s(static_cast<std::size_t>(num_aggregators_));
        for (const Window& window : windows) {
            double& end_s = ends_s[static_cast<std::size_t>(window.aggregator)];
            end_s = storage_.write(node_of(window.aggregator), end_s, window.begin_bytes, window.end_bytes);
            all_bytes += static_cast<double>(window.end_bytes - window.begin_bytes);
        }
        const double stored_s = std::ranges::max(ends_s) + machine_.storage_latency_s;
        Busy stored;
        storage_.add_to(stored);
        // One access at a time: what a thread waits for is the client's, where no server is.
        stored.client_s = std::max(stored.client_s, seconds(bytes_of_one(windows), machine_.stream_rate));
        stored.latency_s = counts_s + machine_.storage_latency_s;
        busy += stored;
        return counts_s + exchanged_s + stored_s;
    }

    double bytes_of_one(const std::vector<Window>& windows) const {
        std::vector<double> bytes(static_cast<std::size_t>(num_aggregators_));
        for (const Window& window : windows)
            bytes[static_cast<std::size_t>(window.aggregator)] +=
                static_cast<double>(window.end_bytes - window.begin_bytes);
        return std::ranges::max(bytes);
    }

    // Sent and received at the same time, each rank its own: the slowest decides.
    double exchange(const std::vector<Window>& windows, Busy& busy) const {
        const double received = bytes_of_one(windows);
        double all = 0;
        for (const Window& window : windows)
            all += static_cast<double>(window.end_bytes - window.begin_bytes);
        std::vector<double> of_node(static_cast<std::size_t>(job_.num_nodes()));
        double most_of_rank = 0, messages = 0;
        const int step = (job_.num_ranks - 1) / (most_looked_at * 8) + 1;
        for (int first = 0; first < job_.num_ranks; first += step) {
            const int rank = first + step / 2 < job_.num_ranks ? first + step / 2 : first;
            const double weight = std::min(step, job_.num_ranks - first);
            double bytes = 0;
            for (const Window& window : overlapped(windows, pattern_.files[static_cast<std::size_t>(rank)])) {
                const Region& file = pattern_.files[static_cast<std::size_t>(rank)];
                const auto part = static_cast<double>(file.bytes_below(window.end_bytes) -
                                                      file.bytes_below(window.begin_bytes));
                bytes += part;
                messages += part > 0 ? weight : 0;
            }
            most_of_rank = std::max(most_of_rank, bytes);
            of_node[static_cast<std::size_t>(job_.node_of(rank))] += weight * bytes;
        }
        const bool is_one_node = job_.num_nodes() == 1;
        const double num_pieces =
            received / static_cast<double>(std::max<std::int64_t>(1, pattern_.piece_bytes));
        const double of_aggregator = messages / num_aggregators_;
        // Packed, carried and unpacked; between nodes the network carries.
        const double packed_s = copy_s(machine_, most_of_rank, pattern_.piece_bytes);
        const double unpacked_s = copy_s(machine_, received, pattern_.piece_bytes) +
                                  seconds(is_one_node ? received : 0, machine_.core_rate) +
                                  of_aggregator * machine_.message_s + num_pieces * merge_s;
        const double memory_s =
            seconds((is_one_node ? 3 * all : 2 * std::max(received, std::ranges::max(of_node))),
                    machine_.memory_rate);
        const double network_s =
            is_one_node ? 0 : seconds(std::max(received, std::ranges::max(of_node)), machine_.network_rate);
        busy.memory_s += std::max(packed_s + unpacked_s, memory_s);
        busy.network_s += network_s;
        return std::max({packed_s + unpacked_s, memory_s, network_s});
    }

    /// Those of the windows, which are in the order of the file, that may have bytes of a region.
    static std::vector<Window> overlapped(const std::vector<Window>& windows, const Region& file) {
        const auto first = std::ranges::upper_bound(windows, file.begin_bytes(), {}, &Window::end_bytes);
        const auto last = std::ranges::lower_bound(windows, file.end_bytes(), {}, &Window::begin_bytes);
        return first < last ? std::vector<Window>(first, last) : std::vector<Window>();
    }

    const Pattern& pattern_;
    const Job& job_;
    const Machine& machine_;
    Layout layout_;
    Storage storage_;
    int num_aggregators_;
    std::int64_t domain_bytes_ = 0, num_rounds_ = 1, stripes_at_once_ = 1;
};

}  // namespace

Outcome parallel(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout) {
    if (!are_interleaved(pattern)) return own_ranges(pattern, job, machine, layout);
    return Rounds(pattern, job, machine, layout).run();
}

}  // namespace hakobi::bench::scale
