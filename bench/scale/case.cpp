#include "case.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "methods.hpp"

namespace hakobi::bench::scale {
namespace {

struct Case {
    std::string name;
    Machine machine;
    int num_ranks = 1;
    std::vector<std::string> methods;
    std::string pattern;
    std::int64_t bytes = 0, piece_bytes = 0;
    Layout layout;  // the default one
    int striping_factor = 0;
    EngineHints hints;  // of "pipelined+hints"
};

Machine machine_of(const nlohmann::json& costs) {
    Machine machine;
    machine.ranks_per_node = costs.at("ranks_per_node");
    machine.cores = costs.value("cores", 0);
    machine.core_rate = costs.at("core_rate");
    machine.piece_s = costs.at("piece_s");
    machine.memory_rate = costs.at("memory_rate");
    machine.network_rate = costs.at("network_rate");
    machine.rank_rate = costs.value("rank_rate", 0.0);
    machine.network_latency_s = costs.at("network_latency_s");
    machine.message_s = costs.at("message_s");
    machine.highest_tag = costs.at("highest_tag");
    machine.num_servers = costs.at("num_servers");
    machine.server_rate = costs.at("server_rate");
    machine.storage_latency_s = costs.at("storage_latency_s");
    machine.client_rate = costs.at("client_rate");
    machine.files_rate = costs.at("files_rate");
    machine.stream_rate = costs.at("stream_rate");
    machine.byte_cpu_s = costs.value("byte_cpu_s", 0.0);
    machine.lock_s = costs.at("lock_s");
    machine.is_aggregated_by_stripe = costs.at("is_aggregated_by_stripe");
    return machine;
}

Case case_of(const std::string& line) {
    const nlohmann::json json = nlohmann::json::parse(line);
    Case result;
    result.name = json.at("name");
    result.machine = machine_of(json.at("machine"));
    result.num_ranks = json.at("ranks");
    result.methods = json.at("methods");
    result.pattern = json.at("pattern");
    result.bytes = json.at("bytes");
    result.piece_bytes = json.at("piece_bytes");
    result.layout = {json.at("stripes"), json.at("stripe_bytes")};
    const nlohmann::json hints = json.value("hints", nlohmann::json::object());
    result.hints.cb_nodes = hints.value("cb_nodes", 0);
    result.striping_factor = hints.value("striping_factor", 0);
    result.hints.depth = hints.value("hakobi_depth", result.hints.depth);
    result.hints.io_threads = hints.value("hakobi_io_threads", 0);
    result.hints.server_requests = hints.value("hakobi_server_requests", 0);
    return result;
}

Result<Outcome> outcome_of(const std::string& method, const Pattern& pattern, const Job& job,
                           const Case& of) {
    const Machine& machine = of.machine;
    if (method == "root") return collected(pattern, job, machine, of.layout, job.num_ranks);
    if (method == "writers")
        return collected(pattern, job, machine, of.layout,
                         std::min(4, std::min(job.num_ranks, job.ranks_per_node)));
    if (method == "per-process") return per_process(pattern, job, machine);
    if (method == "parallel") return parallel(pattern, job, machine, of.layout);
    if (method == "pipelined") return pipelined(pattern, job, machine, of.layout, false);
    if (method == "pipelined+hints") {
        Layout layout = layout_for(job, machine);
        if (of.striping_factor > 0) layout.num_stripes = of.striping_factor;
        return pipelined(pattern, job, machine, layout, true, of.hints);
    }
    if (method == "pipelined+layout") return pipelined(pattern, job, machine, layout_for(job, machine), true);
    return Status(ErrorCode::invalid_argument, "unknown method '" + method + "'");
}

measure::Record record_of(const Case& of, const std::string& method, const Pattern& pattern, const Job& job,
                          const Outcome& outcome) {
    return {{"kind", "simulated"},
            {"case", of.name},
            {"method", method},
            {"pattern", pattern.name},
            {"shape", pattern.shape},
            {"ranks", of.num_ranks},
            {"nodes", job.num_nodes()},
            {"bytes", pattern.file_bytes},
            {"piece_bytes", pattern.piece_bytes},
            {"time_s", outcome.time_s},
            {"limit", outcome.busy.longest()},
            {"busy_s",
             {{"servers", outcome.busy.servers_s},
              {"locks", outcome.busy.locks_s},
              {"client", outcome.busy.client_s},
              {"network", outcome.busy.network_s},
              {"memory", outcome.busy.memory_s},
              {"cores", outcome.busy.cores_s},
              {"aggregator", outcome.busy.aggregator_s},
              {"descriptions", outcome.busy.descriptions_s},
              {"latency", outcome.busy.latency_s}}},
            {"aggregators", outcome.num_aggregators},
            {"stripes", outcome.layout.num_stripes},
            {"stripe_bytes", outcome.layout.stripe_bytes},
            {"phases", outcome.num_phases},
            {"words_sent", outcome.mean_words_sent},
            {"most_words_sent", outcome.most_words_sent},
            {"most_words_held", outcome.most_words_held},
            {"messages", outcome.mean_messages},
            {"memory_bytes", outcome.memory_of_rank}};
}

}  // namespace

Status run_cases(const std::vector<std::string>& lines,
                 const std::function<void(const measure::Record&)>& take) {
    std::vector<Case> cases;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        try {
            cases.push_back(case_of(lines[i]));
        } catch (const nlohmann::json::exception& error) {
            return {ErrorCode::invalid_argument, "case " + std::to_string(i + 1) + ": " + error.what()};
        }
    }
    std::mutex mutex;
    Status status;
    for (const Case& of : cases) {
        const Result<Pattern> pattern = make_pattern(of.pattern, of.bytes, of.piece_bytes, of.num_ranks, 0);
        if (!pattern.ok()) return pattern.status();
        const Job job{of.num_ranks, of.machine.ranks_per_node};
        std::atomic<std::size_t> next = 0;
        const auto work = [&] {
            for (std::size_t i = next++; i < of.methods.size(); i = next++) {
                const std::string& method = of.methods[i];
                const Result<Outcome> outcome = outcome_of(method, pattern.value(), job, of);
                const std::scoped_lock lock(mutex);
                status.keep_first(outcome.status());
                if (outcome.ok()) take(record_of(of, method, pattern.value(), job, outcome.value()));
            }
        };
        std::vector<std::thread> threads;
        for (unsigned i = 1;
             i < std::min<std::size_t>(std::thread::hardware_concurrency(), of.methods.size()); ++i)
            threads.emplace_back(work);
        work();
        for (std::thread& thread : threads) thread.join();
    }
    return status;
}

}  // namespace hakobi::bench::scale
