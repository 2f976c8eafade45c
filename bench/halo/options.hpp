#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "case.hpp"
#include "measure/repetition.hpp"

namespace hakobi::bench {

/// The command line of hakobi-bench-halo; `--help` words each.
struct HaloOptionsOfBench {
    std::vector<std::int64_t> extents{64};
    std::vector<std::string> layouts{"last"};
    std::vector<int> directions;  ///< none: all of the grid's
    std::vector<std::string> ways{"both"};
    std::vector<int> ranks;  ///< of the grid; none: hakobi::dims_of_ranks
    std::vector<std::string> contenders;
    std::int64_t num_components = 8, ghost = 1;
    int num_dims = 3;
    bool is_open = false, faces_only = false, is_hot = false, explain = false;
    int num_histogram = 0;
    measure::RepetitionRule rule{.relative_width = 0.05, .budget_s = 10.0};
    std::string json_path;
    std::string help_text;  ///< not empty: it was asked for, and nothing else counts

    /// Every case that the options ask for, for so many ranks.
    [[nodiscard]] Result<std::vector<HaloCase>> cases(int num_ranks) const;
};

/// Local and pure; equal on all ranks. invalid_argument with one line that a user can act on.
[[nodiscard]] Result<HaloOptionsOfBench> parse_halo_options(int argc, const char* const* argv);

}  // namespace hakobi::bench
