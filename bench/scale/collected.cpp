// The methods in which ranks hand their values to others, or keep them (src/output/collect.cpp,
// src/series/assemble.cpp): a writer asks its members for windows of half its buffer, puts their runs in the
// order of the file, and writes what is contiguous at once. Nothing overlaps.
#include <algorithm>

#include "methods.hpp"
#include "region/cursor.hpp"
#include "storage.hpp"

namespace hakobi::bench::scale {
namespace {

constexpr std::int64_t window_bytes = 32 << 20;  // half of OutputOptions::buffer_bytes
constexpr double run_s = 1e-7;                   // a run's way through the heap
constexpr std::int64_t most_run_in_place = 256 << 10;

/// Bytes that a group's ranks have one behind the other in the file, from the first piece of the first on.
std::int64_t run_bytes(const Pattern& pattern, int first, int last) {
    std::int64_t end = -1, bytes = 0;
    for (int rank = first; rank < last; ++rank) {
        const Cursor cursor(pattern.files[static_cast<std::size_t>(rank)]);
        if (cursor.at_end() || (end >= 0 && cursor.offset() != end)) break;
        bytes += cursor.remaining();
        end = cursor.offset() + cursor.remaining();
    }
    return bytes;
}

/// Ranks with bytes in [begin, end).
int num_active(const Pattern& pattern, int first, int last, std::int64_t begin, std::int64_t end) {
    int count = 0;
    for (int rank = first; rank < last; ++rank) {
        const Region& file = pattern.files[static_cast<std::size_t>(rank)];
        if (file.begin_bytes() < end && file.end_bytes() > begin &&
            file.bytes_below(end) > file.bytes_below(begin))
            ++count;
    }
    return count;
}

}  // namespace

Outcome collected(const Pattern& pattern, const Job& job, const Machine& machine, const Layout& layout,
                  int stride) {
    Storage storage(machine, layout, job.num_nodes());
    Outcome outcome;
    outcome.layout = layout;
    const int num_writers = (job.num_ranks - 1) / stride + 1;
    const int of_group = std::min(stride, job.num_ranks);
    outcome.num_aggregators = num_writers;
    double group_bytes = 0;
    for (int rank = 0; rank < of_group; ++rank)
        group_bytes += static_cast<double>(pattern.files[static_cast<std::size_t>(rank)].size_bytes());
    const double num_windows = std::max(1.0, group_bytes / static_cast<double>(window_bytes));
    outcome.num_phases = static_cast<std::int64_t>(num_windows);
    const auto words = static_cast<double>(pattern.files.front().num_words());
    outcome.mean_words_sent = outcome.most_words_sent = words;
    outcome.most_words_held = words * of_group;
    outcome.mean_messages = 1;
    outcome.memory_of_rank = static_cast<double>(2 * window_bytes) / of_group + 8 * outcome.most_words_held;

    const bool is_within = of_group <= job.ranks_per_node && job.ranks_per_node % of_group == 0;
    const std::int64_t run = run_bytes(pattern, 0, of_group);
    const bool is_whole = num_writers == 1;
    // The first window is as good as any.
    const std::int64_t end = static_cast<std::int64_t>(static_cast<double>(window_bytes) *
                                                       static_cast<double>(pattern.file_bytes) / group_bytes);
    const double members = num_active(pattern, 0, of_group, 0, is_whole ? window_bytes : end);
    const double in_window = std::min(static_cast<double>(window_bytes), group_bytes);
    const double asked_s =
        members * 2 * machine.message_s + 2 * (is_within ? machine.message_s : machine.network_latency_s);
    const double carried_s = is_within ? 0 : seconds(in_window, machine.network_rate);
    const double copied_s =
        seconds((is_within ? 3 : 2) * in_window, machine.core_rate) +
        run_s * in_window / static_cast<double>(std::max<std::int64_t>(1, pattern.piece_bytes));
    outcome.busy.latency_s = num_windows * asked_s;
    outcome.busy.network_s = num_windows * carried_s;
    outcome.busy.memory_s = num_windows * copied_s;
    outcome.time_s = num_windows * (asked_s + carried_s + copied_s);
    outcome.busy.descriptions_s =
        of_group * 2 * machine.message_s + seconds(8 * outcome.most_words_held, machine.core_rate);
    outcome.time_s += outcome.busy.descriptions_s;

    double stored_s = 0;
    if (is_whole) {
        for (std::int64_t at = 0; at < pattern.file_bytes && at < 8 * window_bytes; at += window_bytes)
            stored_s = storage.write(0, stored_s, at, std::min(at + window_bytes, pattern.file_bytes)) +
                       machine.storage_latency_s;
        const double simulated = static_cast<double>(std::min(pattern.file_bytes, 8 * window_bytes));
        const double factor = static_cast<double>(pattern.file_bytes) / simulated;
        Busy stored;
        storage.add_to(stored);
        outcome.busy += stored.times(factor);
        stored_s *= factor;
        outcome.busy.client_s = std::max(
            outcome.busy.client_s, seconds(static_cast<double>(pattern.file_bytes), machine.stream_rate));
    } else {
        const double each = static_cast<double>(std::clamp<std::int64_t>(run, 1, most_run_in_place));
        const double count = group_bytes / each;
        const double moved = 1 - 1.0 / job.num_nodes();
        const int of_node = (num_writers - 1) / job.num_nodes() + 1;
        for (int node = 0; node < job.num_nodes(); ++node)
            stored_s = std::max(stored_s, storage.write_small(node, of_node, count, each, moved));
        storage.add_to(outcome.busy);
        outcome.busy.latency_s += count * machine.storage_latency_s;
    }
    outcome.time_s += stored_s;
    return outcome;
}

Outcome per_process(const Pattern& pattern, const Job& job, const Machine& machine) {
    Outcome outcome;
    outcome.layout = {1, 1 << 20};
    outcome.num_aggregators = job.num_ranks;
    const auto of_rank = static_cast<double>(pattern.file_bytes) / job.num_ranks;
    const int of_node = std::min(job.ranks_per_node, job.num_ranks);
    const int of_server = (job.num_ranks - 1) / machine.num_servers + 1;
    outcome.busy.client_s =
        std::max(seconds(of_rank, machine.stream_rate), seconds(of_node * of_rank, machine.files_rate));
    outcome.busy.servers_s = seconds(of_server * of_rank, machine.server_rate);
    outcome.busy.latency_s = machine.storage_latency_s;
    outcome.time_s = std::max(outcome.busy.client_s, outcome.busy.servers_s) + machine.storage_latency_s;
    return outcome;
}

}  // namespace hakobi::bench::scale
