#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "format/step.hpp"
#include "mpi/agree.hpp"
#include "output/held_field.hpp"

namespace hakobi::output {

/// Two ranks whose blocks have elements in common; nothing when no two have. Pure. Blocks are of one array.
[[nodiscard]] std::optional<std::pair<int, int>> find_overlap(std::span<const Block> blocks);

/// What the ranks' first agreement on a step found.
struct StepAgreement {
    mpi::Agreed error;
    bool are_blocks_new = false;  ///< some rank said so
};

/// Collective: whether all ranks described the same step and none found a mistake in its own part (`local`).
/// One small all-reduce when all is well; otherwise the error says what differs, and on which rank.
StepAgreement agree_on_step(const Comm& comm, const Status& local, const format::StepDescription& description,
                            bool are_blocks_new);

/// Collective: invalid_argument, naming the ranks, when blocks of a field overlap. Rank 0 looks at all blocks. `held` has
/// one entry a field. `uncovered` becomes, on every rank, what of each field that has a fill value nobody put.
mpi::Agreed agree_on_blocks(const Comm& comm, std::span<const format::FieldDescription> fields,
                            std::span<const HeldField> held, std::vector<std::vector<Block>>& uncovered);

}  // namespace hakobi::output
