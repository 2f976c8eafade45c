#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "halo/case.hpp"
#include "measure/repetition.hpp"
#include "put.hpp"

namespace hakobi::bench {

/// The command line of hakobi-bench-device; `--help` words each.
struct DeviceOptions {
    std::vector<std::string> parts{"copies", "put", "halo"};
    std::int64_t copy_bytes = std::int64_t{64} << 20;
    std::vector<std::int64_t> rows{64, 512, 4096, 65536};
    PutShape put;                                ///< without its folder and ghosts
    std::vector<std::int64_t> put_ghosts{0, 1};  ///< the last is that of `hidden`
    std::vector<std::string> folders;
    HiddenRun hidden;
    std::vector<std::int64_t> halo_extents{32, 128, 256};
    std::vector<int> grid;  ///< ranks in each dimension; none: hakobi::dims_of_ranks
    std::vector<std::string> halo_contenders;
    bool is_hot = false, explain = false;
    measure::RepetitionRule rule{.relative_width = 0.05, .budget_s = 10.0};
    std::string json_path;
    std::string help_text;  ///< not empty: it was asked for, and nothing else counts

    [[nodiscard]] bool has(const std::string& part) const;
    /// The halos that the options ask for, for so many ranks.
    [[nodiscard]] Result<std::vector<HaloCase>> halos(int num_ranks) const;
};

/// Local and pure; equal on all ranks. invalid_argument with one line that a user can act on.
[[nodiscard]] Result<DeviceOptions> parse_device_options(int argc, const char* const* argv);

}  // namespace hakobi::bench
