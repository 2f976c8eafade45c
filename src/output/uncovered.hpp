#pragma once

#include <hakobi/block.hpp>
#include <span>
#include <vector>

namespace hakobi::output {

/// The elements of an array (of a dimension at least) that none of `blocks` has, as blocks that do not overlap. `blocks` are of that array and do not
/// overlap either. Pure.
[[nodiscard]] std::vector<Block> uncovered(std::span<const std::int64_t> global,
                                           std::span<const Block> blocks);

/// A rank's share of what is to be done for a block: every rank's together are the block. Pure.
[[nodiscard]] Block share_of(const Block& block, int num_ranks, int rank);

}  // namespace hakobi::output
