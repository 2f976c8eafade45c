#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "measure/repetition.hpp"
#include "sampler.hpp"

namespace hakobi::bench {

/// The command line of hakobi-bench-mpi; `--help` words each.
struct Options {
    std::vector<std::string> patterns{"pingpong", "sendrecv"};
    std::vector<std::int64_t> sizes;
    std::vector<Buffering> bufferings{Buffering::hot, Buffering::cold};
    std::int64_t window_bytes = 0;  ///< 0: twice the last-level cache
    std::int64_t cache_bytes = 0;   ///< 0: what hwloc says; for machines that lie
    bool use_hwloc = true;
    std::string place = "as-launched";
    measure::RepetitionRule rule{.relative_width = 0.05, .budget_s = 2.0};
    SamplingOptions sampling;
    int num_self_comparisons = 0;  ///< --aa
    std::string json_path;
    std::string transport;     ///< what the caller says that moves the bytes, for the table and the records
    bool is_funneled = false;  ///< ask for MPI_THREAD_FUNNELED, as Hakobi's applications do
    std::string help_text;     ///< not empty: it was asked for, and nothing else counts
};

/// Local and pure; equal on all ranks. invalid_argument with one line that a user can act on.
[[nodiscard]] Result<Options> parse_options(int argc, const char* const* argv);

/// "0", "64", "4K", "16M" (binary units; a trailing B or iB may follow). invalid_argument when it is no size.
[[nodiscard]] Result<std::int64_t> parse_bytes(const std::string& text);

/// "8 B", "64 KiB", "1.5 MiB".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);

}  // namespace hakobi::bench
