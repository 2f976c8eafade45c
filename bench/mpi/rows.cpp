#include "rows.hpp"

#include <algorithm>
#include <cstdio>

#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"

namespace hakobi::bench {
namespace {

/// Every rank's text, on every rank. Collective.
std::vector<std::string> all_texts(const Comm& comm, const std::string& mine) {
    constexpr std::size_t most = 256;
    std::vector<char> texts(most * static_cast<std::size_t>(comm.size()));
    std::vector<char> text(most, '\0');
    std::copy_n(mine.begin(), std::min(mine.size(), most - 1), text.begin());
    mpi::check(
        MPI_Allgather(text.data(), most, MPI_CHAR, texts.data(), most, MPI_CHAR, comm.state().internal),
        "MPI_Allgather");
    std::vector<std::string> result;
    for (int rank = 0; rank < comm.size(); ++rank)
        result.emplace_back(texts.data() + most * static_cast<std::size_t>(rank));
    return result;
}

measure::Agreement rank_0_decides(const Comm& comm) {
    return [comm](bool more) {
        int decision = more ? 1 : 0;
        mpi::check(MPI_Bcast(&decision, 1, MPI_INT, 0, comm.state().internal), "MPI_Bcast");
        return decision != 0;
    };
}

/// A core of its own for each rank of a node: every two ranks in order get a pair of cores that are at
/// `distance`.
Result<std::string> core_for(const measure::Topology& topology, int node_rank, measure::Distance distance) {
    if (!topology.is_known())
        return Status(ErrorCode::unsupported, "--place needs hwloc, which is not in use");
    const std::vector<std::string> cores = topology.cores_in_order();
    std::vector<bool> is_taken(cores.size(), false);
    int num_pairs = 0;
    for (std::size_t a = 0; a < cores.size(); ++a) {
        for (std::size_t b = a + 1; b < cores.size() && !is_taken[a]; ++b) {
            if (is_taken[b] || topology.distance(cores[a], cores[b]) != distance) continue;
            if (num_pairs++ == node_rank / 2) return cores[node_rank % 2 == 0 ? a : b];
            is_taken[a] = is_taken[b] = true;
        }
    }
    return Status(ErrorCode::unsupported,
                  num_pairs == 0 ? "this machine has no two cores that are '" + to_string(distance) + "'"
                                 : "a node's ranks are more than its cores that are, two by two, '" +
                                       to_string(distance) + "': there are " + std::to_string(2 * num_pairs));
}

/// Whether the ranks of this node are more than the cores that they may run on.
bool has_more_ranks_than_cores(const Comm& comm, const measure::Topology& topology,
                               const std::vector<std::string>& units) {
    const auto& nodes = comm.state().nodes.of_rank;
    const int mine = nodes[static_cast<std::size_t>(comm.rank())];
    std::string together;
    for (int rank = 0; rank < comm.size(); ++rank) {
        const std::string& list = units[static_cast<std::size_t>(rank)];
        if (nodes[static_cast<std::size_t>(rank)] != mine || list.empty()) continue;
        together += (together.empty() ? "" : ",") + list;
    }
    const int num_cores = together.empty() ? topology.num_cores() : topology.num_cores_of(together);
    return comm.node_size() > num_cores;
}

std::string number_text(const char* format, double value) {
    char text[48];
    std::snprintf(text, sizeof text, format, value);
    return text;
}

}  // namespace

Placement place_ranks(const Comm& comm, const measure::Topology& topology, const std::string& place) {
    Status status;
    if (place != "as-launched") {
        const measure::Distance distance = place == "same-core-complex" ? measure::Distance::same_core_complex
                                           : place == "same-socket"     ? measure::Distance::same_socket
                                                                        : measure::Distance::other_socket;
        auto core = core_for(topology, comm.node_rank(), distance);
        if (!core.ok()) {
            status = core.status();
        } else if (!topology.bind(core.value())) {
            status =
                Status(ErrorCode::unsupported, "the system refuses to bind a rank to core " + core.value());
        }
    }
    mpi::agree_or_throw(comm, status);
    Placement placement;
    placement.units = all_texts(comm, topology.binding());
    const auto& nodes = comm.state().nodes.of_rank;
    placement.text = comm.size() < 2        ? "one rank"
                     : nodes[0] != nodes[1] ? "other node"
                     : !topology.is_known()
                         ? "placement not known"
                         : to_string(topology.distance(placement.units[0], placement.units[1]));
    std::int64_t over = has_more_ranks_than_cores(comm, topology, placement.units) ? 1 : 0;
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, &over, 1, MPI_INT64_T, MPI_MAX, comm.state().internal),
               "MPI_Allreduce");
    placement.is_oversubscribed = over != 0;
    return placement;
}

double Row::gb_s(std::size_t which) const {
    const double seconds = measurements[which].summary.median;
    return has_rate && seconds > 0 ? counted_bytes / seconds / 1e9 : 0;
}

double Row::gb_s_of(Buffering buffering) const {
    const auto found = std::find(bufferings.begin(), bufferings.end(), buffering);
    return found == bufferings.end() || measurements.empty()
               ? 0
               : gb_s(static_cast<std::size_t>(found - bufferings.begin()));
}

Row measure_row(const Comm& comm, const std::string& pattern_name, std::int64_t bytes, Memories& memories,
                const Options& options) {
    const auto pattern = make_pattern(pattern_name, comm);
    Row row;
    row.pattern = pattern_name;
    row.bytes = bytes;
    row.counted_bytes = pattern->counted_bytes(bytes);
    row.has_rate = pattern->has_bytes() && bytes > 0;
    const bool is_one_sided = pattern_name == "put" || pattern_name == "get";
    // A pattern each: a one-sided one exposes its own window.
    std::vector<std::unique_ptr<Pattern>> patterns;
    std::vector<std::unique_ptr<Sampler>> samplers;
    std::vector<measure::Contender> contenders;
    for (const auto& memory : memories) {
        // Pages given back below a window that is exposed to remote access are beyond what MPI allows.
        if (is_one_sided && memory->buffering == Buffering::first_touch) continue;
        row.bufferings.push_back(memory->buffering);
        patterns.push_back(make_pattern(pattern_name, comm));
        samplers.push_back(
            std::make_unique<Sampler>(comm, *patterns.back(), *memory, bytes, options.sampling));
        contenders.push_back(
            {to_string(memory->buffering), [sampler = samplers.back().get()] { return sampler->sample(); }});
    }
    row.measurements = measure::measure_interleaved(contenders, options.rule, rank_0_decides(comm));
    for (const auto& sampler : samplers) {
        row.iterations.push_back(sampler->iterations());
        row.num_late.push_back(sampler->num_late());
    }
    const auto hot = std::find(row.bufferings.begin(), row.bufferings.end(), Buffering::hot);
    const auto cold = std::find(row.bufferings.begin(), row.bufferings.end(), Buffering::cold);
    if (hot != row.bufferings.end() && cold != row.bufferings.end()) {
        const auto& hot_times = row.measurements[static_cast<std::size_t>(hot - row.bufferings.begin())];
        const auto& cold_times = row.measurements[static_cast<std::size_t>(cold - row.bufferings.begin())];
        row.comparison = measure::compare_interleaved(cold_times.samples, hot_times.samples);
        // Three conditions: the rounds agree on it, the medians' intervals are apart, and there is data to be
        // cached.
        row.is_cache_inflated = row.has_rate && row.comparison.differs && row.comparison.ratio > 1 &&
                                cold_times.summary.ci_low > hot_times.summary.ci_high;
    }
    return row;
}

int count_self_differences(const Comm& comm, const std::string& pattern_name, std::int64_t bytes,
                           Memory& memory, const Options& options) {
    const auto pattern = make_pattern(pattern_name, comm);
    Sampler sampler(comm, *pattern, memory, bytes, options.sampling);
    const std::vector<measure::Contender> twice{{"a", [&] { return sampler.sample(); }},
                                                {"b", [&] { return sampler.sample(); }}};
    int named = 0;
    for (int trial = 0; trial < options.num_self_comparisons; ++trial) {
        const auto results = measure::measure_interleaved(twice, options.rule, rank_0_decides(comm));
        named += measure::compare_interleaved(results[0].samples, results[1].samples).differs ? 1 : 0;
    }
    return named;
}

std::vector<measure::Record> records_of(const Row& row, int num_ranks, const std::string& transport,
                                        const Placement& placement) {
    std::vector<measure::Record> records;
    for (std::size_t i = 0; i < row.measurements.size(); ++i) {
        measure::Record record;
        record["kind"] = "measurement";
        record["benchmark"] = "mpi";
        record["pattern"] = row.pattern;
        record["bytes"] = row.bytes;
        record["ranks"] = num_ranks;
        record["contender"] = to_string(row.bufferings[i]);
        record["transport"] = transport;
        record["placement"] = placement.text;
        if (row.has_rate) {
            record["counted_bytes"] = row.counted_bytes;
            record["gb_s"] = row.gb_s(i);
        }
        record["iterations"] = row.iterations[i];
        record["num_late"] = row.num_late[i];
        record["verified"] = true;
        record.update(to_record(row.measurements[i]));
        records.push_back(std::move(record));
    }
    return records;
}

measure::Record summary_of(const Row& row, int num_ranks, const std::string& transport) {
    measure::Record record;
    record["kind"] = "summary";
    record["benchmark"] = "mpi";
    record["pattern"] = row.pattern;
    record["bytes"] = row.bytes;
    record["ranks"] = num_ranks;
    record["transport"] = transport;
    if (!row.skipped.empty()) {
        record["skipped"] = row.skipped;
        return record;
    }
    const auto has = [&](Buffering buffering) {
        return row.has_rate &&
               std::find(row.bufferings.begin(), row.bufferings.end(), buffering) != row.bufferings.end();
    };
    record["hot_gb_s"] =
        has(Buffering::hot) ? measure::Record(row.gb_s_of(Buffering::hot)) : measure::Record();
    record["cold_gb_s"] =
        has(Buffering::cold) ? measure::Record(row.gb_s_of(Buffering::cold)) : measure::Record();
    const bool is_compared = row.comparison.num_rounds > 0;
    record["ratio"] = is_compared ? measure::Record(row.comparison.ratio) : measure::Record();
    record["ratio_ci_low"] = is_compared ? measure::Record(row.comparison.ci_low) : measure::Record();
    record["ratio_ci_high"] = is_compared ? measure::Record(row.comparison.ci_high) : measure::Record();
    record["cache_inflated"] = row.is_cache_inflated;
    bool wide = false;
    bool is_stationary = true;
    for (const auto& measurement : row.measurements) {
        wide = wide || measurement.wide;
        is_stationary = is_stationary && measurement.is_stationary;
    }
    record["wide"] = wide;
    record["stationary"] = is_stationary;
    return record;
}

std::string table_head(const std::vector<Buffering>& bufferings) {
    std::string head = "       size";
    for (Buffering buffering : bufferings) {
        char text[64];
        std::snprintf(text, sizeof text, "  %11s us      ±    GB/s", to_string(buffering).c_str());
        head += text;
    }
    const bool has_both =
        bufferings.size() > 1 && bufferings[0] == Buffering::hot && bufferings[1] == Buffering::cold;
    return head + (has_both ? "  cold/hot time" : "");
}

std::string table_line(const Row& row) {
    char text[96];
    std::snprintf(text, sizeof text, "%11s", bytes_text(row.bytes).c_str());
    std::string line = text;
    if (!row.skipped.empty()) return line + "  skipped: " + row.skipped;
    bool wide = false;
    bool is_stationary = true;
    int outliers = 0;
    for (std::size_t i = 0; i < row.measurements.size(); ++i) {
        const measure::Summary& summary = row.measurements[i].summary;
        const std::string rate = row.has_rate ? number_text("%.3g", row.gb_s(i)) : "-";
        std::snprintf(text, sizeof text, "  %14.4g %5.1f %% %7s", summary.median * 1e6,
                      100 * summary.relative_spread(), rate.c_str());
        line += text;
        wide = wide || row.measurements[i].wide;
        is_stationary = is_stationary && row.measurements[i].is_stationary;
        outliers += summary.num_outliers;
    }
    if (row.comparison.num_rounds > 0) {
        std::snprintf(text, sizeof text, "  %5.2f [%.2f, %.2f]", row.comparison.ratio, row.comparison.ci_low,
                      row.comparison.ci_high);
        line += text;
    }
    if (row.is_cache_inflated) line += "  cache-inflated";
    if (wide) line += "  wide";
    if (!is_stationary) line += "  not settled";
    if (outliers > 0) line += "  " + std::to_string(outliers) + (outliers == 1 ? " outlier" : " outliers");
    return line;
}

}  // namespace hakobi::bench
