#pragma once

#include <hakobi/block.hpp>
#include <span>
#include <vector>

namespace hakobi::output {

/// Returns the elements of an array that none of `blocks` has, as blocks that do not overlap. The array has
/// one dimension at least; `blocks` are of it, and do not overlap either. Pure.
[[nodiscard]] std::vector<Block> uncovered(std::span<const std::int64_t> global,
                                           std::span<const Block> blocks);

/// Returns a rank's share of a block: all ranks' shares together are the block, and none overlap. Pure.
[[nodiscard]] Block share_of(const Block& block, int num_ranks, int rank);

}  // namespace hakobi::output
