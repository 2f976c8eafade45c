#include "mpiio/report.hpp"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/classic_locale.hpp"

namespace hakobi::mpiio {
namespace {

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && std::strcmp(value, "") != 0 && std::strcmp(value, "0") != 0;
}

constexpr std::array<const char*, num_passed> names_of_passed = {
    "independent",       "nonblocking collective", "shared pointer", "mode or representation",
    "irregular pattern", "file not taken"};

/// Sums over the ranks on rank 0.
struct Totals {
    std::array<std::int64_t, num_passed> passed{};
    std::int64_t bytes = 0, pieces = 0, message_bytes = 0, deferred = 0;
    double wait_buffer_s = 0, storage_s = 0;
    /// Waits for hidden writes, where there were any: each of the rank that waited longest.
    struct Hidden {
        double order_s = 0, close_s = -1, memory_s = 0;
        [[nodiscard]] bool is_any() const { return close_s >= 0; }
    } hidden;
};

Totals totals_of(const OpenFile& file) {
    io::EngineCounters counters = file.engine_side.counters();
    if (file.queue != nullptr) {
        const io::EngineCounters& queued = file.queue->counters();
        counters.user_bytes += queued.user_bytes;
        counters.pieces += queued.pieces;
        counters.wait_buffer_s += queued.wait_buffer_s;
        counters.storage_s += queued.storage_s;
    }
    std::array<std::int64_t, num_passed + 4> mine{}, sums{};
    for (std::size_t i = 0; i < num_passed; ++i)
        mine[i] = file.counts.passed[i].load(std::memory_order_relaxed);
    mine[num_passed] = counters.user_bytes;
    mine[num_passed + 1] = counters.pieces;
    mine[num_passed + 2] = counters.message_bytes;
    mine[num_passed + 3] = file.counts.deferred.load(std::memory_order_relaxed);
    const std::array<double, 2> my_times = {counters.wait_buffer_s, counters.storage_s};
    std::array<double, 2> times{};
    PMPI_Reduce(mine.data(), sums.data(), static_cast<int>(mine.size()), MPI_INT64_T, MPI_SUM, 0,
                file.facts.comms->comm);
    PMPI_Reduce(my_times.data(), times.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_SUM, 0,
                file.facts.comms->comm);
    const std::array<double, 3> my_waits = {counters.wait_hidden_s, file.engine_side.closing_s().value_or(-1),
                                            counters.wait_buffer_s};
    std::array<double, 3> waits{};
    PMPI_Reduce(my_waits.data(), waits.data(), static_cast<int>(waits.size()), MPI_DOUBLE, MPI_MAX, 0,
                file.facts.comms->comm);
    Totals totals;
    totals.hidden = {waits[0], waits[1], waits[2]};
    std::copy_n(sums.begin(), num_passed, totals.passed.begin());
    totals.bytes = sums[num_passed];
    totals.pieces = sums[num_passed + 1];
    totals.message_bytes = sums[num_passed + 2];
    totals.deferred = sums[num_passed + 3];
    totals.wait_buffer_s = times[0];
    totals.storage_s = times[1];
    return totals;
}

}  // namespace

bool wants_profile() {
    return is_set("HAKOBI_PROFILE");
}

bool wants_explanation() {
    static const bool is_wanted = is_set("HAKOBI_EXPLAIN");
    return is_wanted;
}

void explain(const OpenFile& file, std::string_view text) {
    if (file.facts.rank != 0 || !wants_explanation()) return;
    std::fprintf(stderr, "hakobi: %s: %.*s\n", file.facts.name.c_str(), static_cast<int>(text.size()),
                 text.data());
}

void explain_why_not(const OpenFile& file) {
    if (!file.engine_side.why_not.empty())
        explain(file, "left to the MPI library: " + file.engine_side.why_not);
}

void report(const OpenFile& file) {
    const Totals totals = totals_of(file);
    if (file.facts.rank != 0) return;
    const ClassicLocale classic;
    constexpr double mib = 1024.0 * 1024.0;
    const std::int64_t writes = file.counts.writes, reads = file.counts.reads;
    std::array<char, 512> line{};
    std::string text;
    const auto add = [&](const char* label, auto... values) {
        std::snprintf(line.data(), line.size(), values...);
        text.append("  ").append(label).append(line.data()).append("\n");
    };
    text = "hakobi: " + file.facts.name + ", " + std::to_string(file.facts.num_ranks) + " ranks, " +
           library_name() + " underneath\n";
    add("taken     ", "%" PRId64 " collective writes and %" PRId64 " collective reads of every rank", writes,
        reads);
    if (const std::int64_t queued = file.counts.queued; queued > 0)
        add("queued    ", "%" PRId64 " of them, nonblocking or split, carried out while the program goes on",
            queued);
    if (writes + reads > 0) {
        const double mean_piece =
            static_cast<double>(totals.bytes) / static_cast<double>(std::max<std::int64_t>(totals.pieces, 1));
        add("instead of", " asking the library for %.3f MiB in %" PRId64 " pieces of %.0f bytes on average",
            static_cast<double>(totals.bytes) / mib, totals.pieces, mean_piece);
        if (totals.storage_s > 0) {
            const double hidden = 1 - std::min(1.0, totals.wait_buffer_s / totals.storage_s);
            add("storage   ", "%.4f s in file accesses of all I/O threads, %.0f %% of it behind other work",
                totals.storage_s, 100 * hidden);
        }
        if (totals.message_bytes > 0)
            add("messages  ", "%.3f MiB between nodes", static_cast<double>(totals.message_bytes) / mib);
    }
    if (const Totals::Hidden& hidden = totals.hidden; hidden.is_any())
        add("hidden    ",
            "waited %.4f s at the close, %.4f s in calls that must see what is under way, %.4f s for free "
            "buffers",
            hidden.close_s, hidden.order_s, hidden.memory_s);
    if (totals.deferred > 0)
        add("behind    ", "%" PRId64 " short writes of one rank, which nobody waited for", totals.deferred);
    if (file.counts.late_views > 0)
        add("views     ", "%" PRId64 " set, %" PRId64 " of them held back until the library needs them",
            file.counts.views, file.counts.late_views);
    for (std::size_t i = 0; i < num_passed; ++i) {
        if (totals.passed[i] > 0)
            add("passed    ", "%" PRId64 " calls: %s", totals.passed[i], names_of_passed[i]);
    }
    const std::string& why_not = file.engine_side.why_not;
    if (!why_not.empty()) text += "  not taken: " + why_not + "\n";
    std::fputs(text.c_str(), stderr);
}

}  // namespace hakobi::mpiio
