#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hakobi::bench {

/// The command line of hakobi-bench-collective; `--help` words each.
struct Options {
    std::string pattern = "block3d";
    std::int64_t bytes = 256 << 20;
    std::int64_t piece_bytes = 512;
    std::string folder = "/dev/shm";
    std::vector<std::string> operations = {"write", "read"};
    std::vector<std::string> accesses = {"threads"};
    std::vector<std::string> compare;
    std::string mpi_io_name = "mpi-io";
    std::vector<std::string> hints, mpi_hints;
    std::int64_t cb_bytes = 0;
    int depth = 0, aggregators = 0, io_threads = 0, floor_ranks = 2;
    double skew_s = 0;
    double pause_s = 0, pause_every_s = 0;
    double limit_gb_s = 0;
    double budget_s = 20;
    int min_samples = 5, max_samples = 100;
    bool is_unverified = false;
    bool is_file_kept = false, is_cache_dropped = false, is_synced = false;
    std::string json;
};

struct CommandLine {
    Options options;
    std::optional<int>
        exit_status;  ///< set: there is nothing to do (help was asked for, or the line is wrong)
};

/// Local; equal on all ranks. Help and what is wrong with the line are printed where `is_speaker`. Throws
/// Error (invalid_argument) for what the line's form does not show.
CommandLine parse_command_line(int argc, char** argv, bool is_speaker);

}  // namespace hakobi::bench
