// hakobi-bench-collective: how fast a collective write or read of a distributed array is, by the engine and
// by the MPI library, as a fraction of what the same storage does with large contiguous blocks in the same
// minute.
//
//  1. The contenders take turns, write and read each, in one run of one job (measure/repetition.hpp).
//  2. A sample is one collective call on a file that is opened and closed for it: time is from the first
//     rank's start of opening (after a barrier) until the last rank has closed, and "calls alone" leaves both
//     out; fsync counts only with --sync. Processor time is all ranks' together, opening and closing too. A
//     written file is new in every sample (its pages are allocated, as an application's are), or with --file
//     kept the same one.
//  3. Every byte is verified, outside the timed part: what was written by reading the file with pread, each
//     rank another slice; what was read in memory.
//  4. How much of the file lay in the page cache before a read is measured, not guessed; --drop-cache drops
//     it first.
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <optional>
#include <system_error>
#include <thread>

#include "base/clock.hpp"
#include "contender.hpp"
#include "measure/repetition.hpp"
#include "measure/residency.hpp"
#include "mpi/agree.hpp"
#include "mpi/messages.hpp"
#include "options.hpp"
#include "region/cursor.hpp"
#include "report.hpp"
#include "slow_rank.hpp"
#include "storage/file.hpp"

namespace hakobi::bench {
namespace {

double cpu_s() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

std::int64_t now_ns() {
    return static_cast<std::int64_t>(now_s() * 1e9);
}

Hints parsed_hints(const std::vector<std::string>& items) {
    Hints hints;
    for (const std::string& item : items) {
        const auto at = item.find('=');
        if (at == std::string::npos)
            throw Error(ErrorCode::invalid_argument, "--hint " + item + ": not name=value");
        hints[item.substr(0, at)] = item.substr(at + 1);
    }
    return hints;
}

class Bench {
  public:
    Bench(const Comm& comm, Options options, Pattern pattern)
        : comm_(comm),
          options_(std::move(options)),
          pattern_(std::move(pattern)),
          file_(pattern_.files[static_cast<std::size_t>(comm.rank())]),
          data_(static_cast<std::size_t>(file_.size_bytes())) {
        path_ = options_.folder + "/hakobi-bench-" + std::to_string(shared_pid()) + ".bin";
    }
    /// Also when a sample has failed.
    ~Bench() {
        if (comm_.rank() != 0) return;
        std::error_code ignored;
        std::filesystem::remove(path_, ignored);
        std::filesystem::remove(path_ + ".read", ignored);
    }
    Bench(const Bench&) = delete;
    Bench& operator=(const Bench&) = delete;

    void run() {
        auto writer = measure::RecordWriter::open(comm_.rank() == 0 ? options_.json : "");
        mpi::agree_or_throw(comm_, writer.status());
        add_contenders();
        std::vector<measure::Contender> contenders;
        for (Series& series : series_) {
            contenders.push_back({series.transfer->name() + (series.is_write ? " write" : " read"),
                                  [this, &series] { return sample(series); }});
        }
        measure::RepetitionRule rule;
        rule.budget_s = options_.budget_s;
        rule.min_samples = options_.min_samples;
        rule.max_samples = options_.max_samples;
        rule.warmup_share = 0.15;
        const auto agreement = [this](bool mine) {
            std::vector<std::int64_t> word{comm_.rank() == 0 && mine ? 1 : 0};
            mpi::all_max(comm_, word);
            return word[0] != 0;
        };
        const std::vector<measure::Measurement> results =
            measure::measure_interleaved(contenders, rule, agreement);
        if (comm_.rank() == 0) report(comm_, options_, pattern_, series_, results, writer.value());
    }

  private:
    int shared_pid() const {
        std::vector<std::int64_t> word{comm_.rank() == 0 ? static_cast<std::int64_t>(getpid()) : 0};
        mpi::all_max(comm_, word);
        return static_cast<int>(word[0]);
    }

    void add_contenders() {
        Hints hints = parsed_hints(options_.hints);
        if (options_.cb_bytes > 0) hints["cb_buffer_size"] = std::to_string(options_.cb_bytes);
        if (options_.depth > 0) hints["hakobi_depth"] = std::to_string(options_.depth);
        if (options_.aggregators > 0) hints["cb_nodes"] = std::to_string(options_.aggregators);
        if (options_.io_threads > 0) hints["hakobi_io_threads"] = std::to_string(options_.io_threads);
        for (const std::string& operation : options_.operations) {
            const bool is_write = operation == "write";
            add(floor_transfer(comm_, pattern_, options_.floor_ranks), is_write);
            for (const std::string& access : options_.accesses) {
                hints["hakobi_access"] = access;
                add(engine_transfer("hakobi " + access, comm_, pattern_, hints), is_write);
            }
            for (const std::string& rival : options_.compare) {
                if (rival == "mpi-io")
                    add(mpi_io_transfer(options_.mpi_io_name, comm_, pattern_,
                                        parsed_hints(options_.mpi_hints)),
                        is_write);
            }
        }
    }
    void add(std::unique_ptr<Transfer> transfer, bool is_write) {
        series_.push_back({std::move(transfer), is_write, {}});
    }

    // Rank 0 makes the file: for writing, empty unless it is kept; for reading, once, with the expected
    // bytes.
    std::string prepared_file(Transfer& transfer, bool is_write) {
        Status status;
        const std::string path = is_write ? path_ : path_ + ".read";
        if (comm_.rank() == 0) {
            if (is_write) {
                if (!options_.is_file_kept) std::filesystem::remove(path);
                transfer.make(path);
            } else if (!has_read_file_) {
                status = write_expected_file(path);
            }
        }
        has_read_file_ = has_read_file_ || !is_write;
        mpi::agree_or_throw(comm_, status);
        return path;
    }

    Status write_expected_file(const std::string& path) const {
        storage::OpenMode mode;
        mode.write = mode.create = mode.truncate = true;
        auto file = storage::open_file(path, mode);
        if (!file.ok()) return file.status();
        std::vector<std::byte> block(4 << 20);
        for (std::int64_t at = 0; at < pattern_.file_bytes; at += static_cast<std::int64_t>(block.size())) {
            const auto length = static_cast<std::size_t>(
                std::min<std::int64_t>(static_cast<std::int64_t>(block.size()), pattern_.file_bytes - at));
            fill_expected(std::span(block).first(length), at, 0);
            Status status = file.value()->write_at(std::span(block).first(length), at);
            if (!status.ok()) return status;
        }
        return file.value()->close();
    }

    void fill_memory(int seed) {
        for (Cursor cursor(file_); !cursor.at_end(); cursor.advance(cursor.remaining())) {
            fill_expected(std::span(data_).subspan(static_cast<std::size_t>(cursor.stream()),
                                                   static_cast<std::size_t>(cursor.remaining())),
                          cursor.offset(), seed);
        }
    }

    double sample(Series& series) {
        const int seed = series.is_write ? ++num_samples_ : 0;
        const std::string path = prepared_file(*series.transfer, series.is_write);
        if (series.is_write) {
            fill_memory(seed);
        } else {
            std::fill(data_.begin(), data_.end(), std::byte{0});
        }
        if (!series.is_write) note_cached_share(series, path);
        mpi::agree_or_throw(comm_, {});
        const double cpu_before_s = cpu_s();
        const std::int64_t open_ns = now_ns();
        series.transfer->open(path, series.is_write);
        const std::int64_t call_ns = now_ns();
        const bool is_last = comm_.rank() == comm_.size() - 1;
        if (is_last && options_.skew_s > 0)
            std::this_thread::sleep_for(std::chrono::duration<double>(options_.skew_s));
        {
            std::optional<SlowRank> slow;
            if (is_last && options_.pause_s > 0) slow.emplace(options_.pause_s, options_.pause_every_s);
            series.transfer->move(data_);
        }
        if (options_.is_synced && series.is_write) sync(path);
        const std::int64_t called_ns = now_ns();
        series.transfer->close();
        // From the first rank's start to the last one's end, on the clock that a node's processes share.
        std::vector<std::int64_t> times{-open_ns, now_ns(), -call_ns, called_ns};
        const double cpu_of_rank_s = cpu_s() - cpu_before_s;
        mpi::all_max(comm_, times);
        const auto all = mpi::gather(comm_, std::as_bytes(std::span(&cpu_of_rank_s, 1)), 0);
        double cpu_total_s = 0;
        for (const auto& bytes : all) {
            double one = 0;
            std::memcpy(&one, bytes.data(), sizeof one);
            cpu_total_s += one;
        }
        series.cpu_s.push_back(cpu_total_s);
        series.call_s.push_back(static_cast<double>(times[2] + times[3]) * 1e-9);
        if (!options_.is_unverified && series.transfer->name() != "floor") verify(series, path, seed);
        return static_cast<double>(times[0] + times[1]) * 1e-9;
    }

    void note_cached_share(Series& series, const std::string& path) {
        Status status;
        if (comm_.rank() == 0) {
            const auto found = options_.is_cache_dropped ? measure::drop_from_page_cache(path)
                                                         : measure::page_cache_residency(path);
            status = found.status();
            if (found.ok()) series.cached_share.push_back(found.value().cached_share());
        }
        mpi::agree_or_throw(comm_, status);
    }

    // One rank for all: the ranks of a benchmark share a node's page cache, or a file system that syncs a
    // file as a whole.
    void sync(const std::string& path) {
        mpi::agree_or_throw(comm_, {});
        Status status;
        if (comm_.rank() == 0) {
            storage::OpenMode mode;
            mode.write = true;
            auto file = storage::open_file(path, mode);
            status = file.ok() ? file.value()->sync() : file.status();
        }
        mpi::agree_or_throw(comm_, status);
    }

    void verify(const Series& series, const std::string& path, int seed) {
        Status status;
        if (series.is_write) {
            status = verify_slice(path, seed, series.transfer->name());
        } else {
            for (Cursor cursor(file_); !cursor.at_end() && status.ok(); cursor.advance(cursor.remaining())) {
                const auto part = std::span(data_).subspan(static_cast<std::size_t>(cursor.stream()),
                                                           static_cast<std::size_t>(cursor.remaining()));
                const std::int64_t wrong = first_wrong(part, cursor.offset(), seed);
                if (wrong >= 0)
                    status = {ErrorCode::io, series.transfer->name() + " read a wrong byte at " +
                                                 std::to_string(cursor.offset() + wrong)};
            }
        }
        mpi::agree_or_throw(comm_, status);
    }

    Status verify_slice(const std::string& path, int seed, const std::string& name) const {
        storage::OpenMode mode;
        mode.is_others = comm_.num_nodes() > 1;
        auto file = storage::open_file(path, mode);
        if (!file.ok()) return file.status();
        const auto size = file.value()->size_bytes();
        if (!size.ok()) return size.status();
        if (size.value() != pattern_.file_bytes)
            return {ErrorCode::io, name + " left a file of " + std::to_string(size.value()) + " bytes, not " +
                                       std::to_string(pattern_.file_bytes)};
        const std::int64_t end = pattern_.file_bytes * (comm_.rank() + 1) / comm_.size();
        std::vector<std::byte> block(1 << 20);
        for (std::int64_t at = pattern_.file_bytes * comm_.rank() / comm_.size(); at < end;
             at += static_cast<std::int64_t>(block.size())) {
            const auto part = std::span(block).first(static_cast<std::size_t>(
                std::min<std::int64_t>(static_cast<std::int64_t>(block.size()), end - at)));
            const auto read = file.value()->read_at(part, at);
            if (!read.ok()) return read.status();
            const std::int64_t wrong = first_wrong(part, at, seed);
            if (wrong >= 0)
                return {ErrorCode::io, name + " wrote a wrong byte at " + std::to_string(at + wrong)};
        }
        return {};
    }

    const Comm& comm_;
    Options options_;
    Pattern pattern_;
    Region file_;
    std::vector<std::byte> data_;
    std::string path_;
    std::vector<Series> series_;
    int num_samples_ = 0;
    bool has_read_file_ = false;
};

int run(int argc, char** argv, const Comm& comm) {
    const CommandLine line = parse_command_line(argc, argv, comm.rank() == 0);
    if (line.exit_status) return *line.exit_status;
    const Options& options = line.options;
    auto pattern =
        make_pattern(options.pattern, options.bytes, options.piece_bytes, comm.size(), comm.rank());
    if (!pattern.ok()) throw Error(pattern.status().code(), pattern.status().text());
    Bench(comm, options, std::move(pattern).value()).run();
    return 0;
}

}  // namespace
}  // namespace hakobi::bench

int main(int argc, char** argv) {
    int provided = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    int status = 0;
    {
        const hakobi::Comm comm = hakobi::Comm::duplicate(MPI_COMM_WORLD);
        try {
            status = hakobi::bench::run(argc, argv, comm);
        } catch (const hakobi::Error& error) {
            // Alike on all ranks: agreed, or from arguments that all ranks have.
            if (comm.rank() == 0) std::fprintf(stderr, "hakobi-bench-collective: %s\n", error.what());
            status = error.code() == hakobi::ErrorCode::invalid_argument ? 2 : 1;
        }
    }
    MPI_Finalize();
    return status;
}
