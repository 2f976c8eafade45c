#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "face.hpp"

namespace hakobi::bench {

/// The command line of hakobi-bench-hypercrossbar; `--help` words each.
struct HypercrossbarOptions {
    double payload_mb_s = 0, seconds = 1.0;
    std::vector<std::int64_t> sizes{64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
    std::vector<int> dimensions;  ///< none: 1 to as many as there are partners
    std::vector<std::string> ways{"send", "receive", "both"};
    struct Contender {
        std::string name;
        int num_under_way = 1;
    };
    std::vector<Contender> contenders;
    std::int64_t row_bytes = 0;
    int samples = 3, late_us = 0, num_histogram = 0;
    std::string json_path;
};

[[nodiscard]] Way way_of(const std::string& name);

/// Local and pure; equal on all ranks. `help` receives the text that was asked for. invalid_argument with one
/// line that a user can act on.
[[nodiscard]] Result<HypercrossbarOptions> parse_hypercrossbar_options(int argc, const char* const* argv,
                                                                       int num_ranks, std::string& help);

}  // namespace hakobi::bench
