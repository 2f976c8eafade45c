#pragma once

#include <cstdint>
#include <hakobi/block.hpp>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "format/layout.hpp"
#include "format/step.hpp"
#include "mpi/agree.hpp"
#include "output/held_field.hpp"

namespace hakobi::output {

/// Returns two of the blocks that have elements in common, by their indices; nothing when no two have. All
/// are of one array. Pure.
[[nodiscard]] std::optional<std::pair<int, int>> find_overlap(std::span<const Block> blocks);

/// The result of agree_on_step.
struct StepAgreement {
    mpi::Agreed error;
    bool are_blocks_new = false;   ///< on some rank
    bool are_statics_new = false;  ///< likewise
};

/// Agrees whether all ranks described the same step and none found a mistake in its own part (`local`).
/// Collective over `comm`; one small all-reduce when all is well. The error says what differs, and on which
/// rank.
StepAgreement agree_on_step(const Comm& comm, const Status& local, const format::StepDescription& description,
                            bool are_blocks_new, bool are_statics_new = false);

/// Agrees that no blocks of a field overlap; rank 0 looks at all of them. `held` has one entry a field.
/// `uncovered` becomes, on every rank, the elements that nobody put of each field that has a fill value.
/// Collective over `comm`. Returns invalid_argument, naming the ranks, where blocks overlap, and
/// out_of_memory.
mpi::Agreed agree_on_blocks(const Comm& comm, std::span<const format::FieldDescription> fields,
                            std::span<const HeldField> held, std::vector<std::vector<Block>>& uncovered);

/// Sends rank 0's layout to all ranks, without its metadata. Collective over `comm`.
void share_layout(const Comm& comm, format::Layout& layout);

}  // namespace hakobi::output
