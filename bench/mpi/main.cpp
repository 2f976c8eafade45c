// hakobi-bench-mpi: how fast is MPI between these ranks with data that is in the cache, and with data that is
// not?
//
// Floor: the hot figure of the same row (the classical benchmark's). Rival: none; one MPI library a run. Hot
// and cold samples are taken in turn, every byte received is compared with what was sent, and a figure stands
// beside half the width of its median's 95 % interval. Exit status: 0 measured; 1 data arrived wrong; 2 bad
// input.
#include <algorithm>
#include <cstdio>
#include <memory>

#include "measure/residency.hpp"
#include "mpi/agree.hpp"
#include "mpi/comm_state.hpp"
#include "rows.hpp"

namespace hakobi::bench {
namespace {

constexpr std::int64_t assumed_cache_bytes = std::int64_t{32} << 20;

struct Needs {
    std::int64_t send_bytes = 0, receive_bytes = 0;
};

Needs needs_of(const Comm& comm, const std::string& pattern, std::int64_t bytes) {
    const auto instance = make_pattern(pattern, comm);
    return {instance->send_bytes(bytes), instance->receive_bytes(bytes)};
}

/// The size of one rank's windows when the largest message of any row needs `needs`.
std::int64_t bytes_of(Buffering buffering, const Needs& needs, std::int64_t window_bytes) {
    if (buffering == Buffering::hot) return needs.send_bytes + needs.receive_bytes;
    return std::max(needs.send_bytes, window_bytes) + std::max(needs.receive_bytes, window_bytes);
}

class Benchmark {
  public:
    Benchmark(const Comm& comm, const Options& options)
        : comm_(comm), options_(options), topology_(measure::Topology::load(options.use_hwloc)) {}

    void run() {
        placement_ = place_ranks(comm_, topology_, options_.place);
        choose_window();
        auto writer = measure::RecordWriter::open(comm_.rank() == 0 ? options_.json_path : "");
        mpi::agree_or_throw(comm_, writer.ok() ? Status() : writer.status());
        writer_ = std::make_unique<measure::RecordWriter>(std::move(writer).value());
        write_conditions();
        make_memories();
        for (const std::string& pattern : options_.patterns) {
            if (options_.num_self_comparisons > 0) {
                compare_with_self(pattern);
            } else {
                measure_pattern(pattern);
            }
        }
        for (const measure::Record& summary : summaries_) write(summary);
    }

  private:
    void say(const std::string& line) const {
        if (comm_.rank() != 0) return;
        std::printf("%s\n", line.c_str());
        std::fflush(stdout);
    }

    /// Collective: a full disk on rank 0 ends the run on every rank.
    void write(const measure::Record& record) {
        mpi::agree_or_throw(comm_, comm_.rank() == 0 ? writer_->write(record) : Status());
    }

    void choose_window() {
        std::int64_t cache_bytes =
            options_.cache_bytes > 0 ? options_.cache_bytes : topology_.caches().last_level_bytes();
        is_cache_assumed_ = cache_bytes <= 0;
        if (is_cache_assumed_) cache_bytes = assumed_cache_bytes;
        window_bytes_ = options_.window_bytes > 0 ? options_.window_bytes : 2 * cache_bytes;
        // Nodes may differ: the largest cache counts.
        mpi::check(
            MPI_Allreduce(MPI_IN_PLACE, &window_bytes_, 1, MPI_INT64_T, MPI_MAX, comm_.state().internal),
            "MPI_Allreduce");
        cache_bytes_ = cache_bytes;
        options_.sampling.eviction_bytes = window_bytes_;
    }

    /// Sizes whose buffers take more than 60 % of a node's memory are skipped, and said so.
    [[nodiscard]] std::string reason_to_skip(const std::string& pattern, std::int64_t bytes) const {
        const std::int64_t memory = measure::memory_bytes();
        std::int64_t needed = 0;
        for (Buffering buffering : options_.bufferings) {
            needed += bytes_of(buffering, needs_of(comm_, pattern, bytes), window_bytes_) * comm_.node_size();
        }
        needed += options_.sampling.eviction_bytes * comm_.node_size();
        if (memory <= 0 || needed <= memory / 10 * 6) return "";
        return "its buffers need " + bytes_text(needed) + ", the node has " + bytes_text(memory);
    }

    void make_memories() {
        Needs most;
        bool has_row = false;
        for (const std::string& pattern : options_.patterns) {
            for (std::int64_t bytes : options_.sizes) {
                if (!skip_on_all(reason_to_skip(pattern, bytes)).empty()) continue;
                has_row = true;
                const Needs needs = needs_of(comm_, pattern, bytes);
                most.send_bytes = std::max(most.send_bytes, needs.send_bytes);
                most.receive_bytes = std::max(most.receive_bytes, needs.receive_bytes);
            }
        }
        if (!has_row) return;  // each is said to be skipped
        for (Buffering buffering : options_.bufferings) {
            const std::int64_t least = buffering == Buffering::hot ? 0 : window_bytes_;
            auto memory = Memory::create(buffering, comm_.rank(), std::max(most.send_bytes, least),
                                         std::max(most.receive_bytes, least));
            mpi::agree_or_throw(comm_, memory.ok() ? Status() : memory.status());
            memories_.push_back(std::make_unique<Memory>(std::move(memory).value()));
        }
        for (const auto& memory : memories_) {
            if (memory->buffering == Buffering::cold) {
                char text[96];
                std::snprintf(text, sizeof text, "%.3g",
                              1e9 * memory->receive.first_touch_s() * 4096 /
                                  static_cast<double>(memory->receive.bytes().size()));
                say("first touch of the cold windows (paid before, not in any figure): " + std::string(text) +
                    " ns a 4 KiB page");
            }
            if (memory->buffering == Buffering::cold_huge) {
                const auto share = 100 * memory->receive.huge_page_bytes() /
                                   static_cast<std::int64_t>(memory->receive.bytes().size());
                say("cold-huge: " + std::to_string(share) + " % of the window on 2 MiB pages" +
                    (share < 50 ? "; the system gave too few, so these figures still hold TLB misses" : ""));
            }
        }
    }

    /// Collective: a row is skipped where any node must skip it.
    std::string skip_on_all(const std::string& reason) const {
        const mpi::Agreed agreed =
            mpi::agree(comm_, reason.empty() ? Status() : Status(ErrorCode::out_of_memory, reason));
        return agreed.status.text();
    }

    void write_conditions() {
        measure::Record record = measure::conditions("mpi", comm_.size(), topology_);
        record["placement"] = placement_.text;
        record["units"] = placement_.units;
        record["oversubscribed"] = placement_.is_oversubscribed;
        record["num_nodes"] = comm_.num_nodes();
        record["transport"] = options_.transport;
        record["window_bytes"] = window_bytes_;
        record["cache_bytes"] = cache_bytes_;
        record["cache_assumed"] = is_cache_assumed_;
        record["consume"] = options_.sampling.consume == Consume::timed ? "timed" : "after";
        record["thread_level"] = options_.is_funneled ? "funneled" : "single";
        record["relative_width"] = options_.rule.relative_width;
        record["budget_s"] = options_.rule.budget_s;
        write(record);
        say(record.value("mpi_library", "MPI") + ", " + std::to_string(comm_.size()) + " ranks on " +
            std::to_string(comm_.num_nodes()) + (comm_.num_nodes() == 1 ? " node" : " nodes") + " of " +
            std::to_string(topology_.num_cores()) + " cores; ranks 0 and 1: " + placement_.text +
            (placement_.units[0].empty()
                 ? ""
                 : " (units " + placement_.units[0] + " and " + placement_.units[1] + ")"));
        if (placement_.is_oversubscribed) say("more ranks than cores: times hold waiting for a processor");
        const measure::CacheSizes caches = topology_.caches();
        say(is_cache_assumed_
                ? "cache sizes unknown: cold buffers rotate through " + bytes_text(window_bytes_) +
                      ", a guess; see --cache"
                : "L1 " + bytes_text(caches.l1_bytes) + ", L2 " + bytes_text(caches.l2_bytes) + ", L3 " +
                      bytes_text(caches.l3_bytes) + " shared by " +
                      std::to_string(caches.last_level_sharers) + "; cold buffers rotate through " +
                      bytes_text(window_bytes_) +
                      (window_bytes_ < cache_bytes_ ? ", LESS than the cache: they are not cold" : ""));
        if (!options_.transport.empty()) say("transport: " + options_.transport);
    }

    [[nodiscard]] std::vector<std::int64_t> sizes_of(const std::string& pattern) const {
        return make_pattern(pattern, comm_)->has_bytes() ? options_.sizes : std::vector<std::int64_t>{0};
    }

    void measure_pattern(const std::string& pattern) {
        say("\n" + pattern +
            (options_.sampling.consume == Consume::timed ? ", reading what arrived included" : "") + "\n" +
            table_head(options_.bufferings));
        for (std::int64_t bytes : sizes_of(pattern)) {
            Row row;
            const std::string reason = skip_on_all(reason_to_skip(pattern, bytes));
            if (reason.empty()) {
                row = measure_row(comm_, pattern, bytes, memories_, options_);
            } else {
                row.pattern = pattern;
                row.bytes = bytes;
                row.skipped = reason;
            }
            say(table_line(row));
            for (const auto& record : records_of(row, comm_.size(), options_.transport, placement_))
                write(record);
            summaries_.push_back(summary_of(row, comm_.size(), options_.transport));
        }
    }

    void compare_with_self(const std::string& pattern) {
        for (std::int64_t bytes : sizes_of(pattern)) {
            const std::string reason = skip_on_all(reason_to_skip(pattern, bytes));
            if (!reason.empty()) {
                say(pattern + ", " + bytes_text(bytes) + " skipped: " + reason);
                continue;
            }
            for (const auto& memory : memories_) {
                const int named = count_self_differences(comm_, pattern, bytes, *memory, options_);
                say(pattern + ", " + bytes_text(bytes) + ", " + to_string(memory->buffering) +
                    " against itself: " + std::to_string(named) + " of " +
                    std::to_string(options_.num_self_comparisons) + " named a difference");
                measure::Record record;
                record["kind"] = "self-comparison";
                record["benchmark"] = "mpi";
                record["pattern"] = pattern;
                record["bytes"] = bytes;
                record["contender"] = to_string(memory->buffering);
                record["comparisons"] = options_.num_self_comparisons;
                record["named"] = named;
                write(record);
            }
        }
    }

    Comm comm_;
    Options options_;
    measure::Topology topology_;
    Placement placement_;
    std::int64_t cache_bytes_ = 0, window_bytes_ = 0;
    bool is_cache_assumed_ = false;
    Memories memories_;
    std::unique_ptr<measure::RecordWriter> writer_;
    std::vector<measure::Record> summaries_;
};

int run(const Result<Options>& options) {
    const Comm comm = Comm::duplicate(MPI_COMM_WORLD);
    const bool is_speaker = comm.rank() == 0;
    if (options.ok() && !options.value().help_text.empty()) {
        if (is_speaker) std::fputs(options.value().help_text.c_str(), stdout);
        return 0;
    }
    Status status = options.ok() ? Status() : options.status();
    if (status.ok() && comm.size() < 2) {
        status = Status(ErrorCode::invalid_argument, "one rank cannot send messages: start 2 or more");
    }
    try {
        mpi::agree_or_throw(comm, status);
        Benchmark(comm, options.value()).run();
    } catch (const Error& error) {
        if (is_speaker) std::fprintf(stderr, "hakobi-bench-mpi: %s\n", error.what());
        return error.code() == ErrorCode::format ? 1 : 2;
    }
    return 0;
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    // The level must be known before MPI can be asked anything; what is wrong with the options is said after.
    const auto options = hakobi::bench::parse_options(argc, argv);
    const bool is_funneled = options.ok() && options.value().is_funneled;
    int provided = 0;
    MPI_Init_thread(&argc, &argv, is_funneled ? MPI_THREAD_FUNNELED : MPI_THREAD_SINGLE, &provided);
    const int status = hakobi::bench::run(options);
    MPI_Finalize();
    return status;
}
