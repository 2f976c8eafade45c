#pragma once

#include <hakobi/block.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "output/agreement.hpp"

namespace hakobi::output {

/// The knowledge of the step before that all ranks share, which spares the next one agreements: a step put
/// like the one before costs one small all-reduce.
///
/// Invariant: between steps, the fields and the parts that nobody put are equal on all ranks, and the layout
/// that the ranks have is one for these fields; the blocks are this rank's, and no rank's have changed where
/// agree_on_step says so.
class Known {
  public:
    /// Whether a step of these fields has been laid out, as the last one. Equal on all ranks where the fields
    /// are.
    [[nodiscard]] bool has_layout_of(std::span<const format::FieldDescription> fields) const;
    void keep_layout_of(std::span<const format::FieldDescription> fields) {
        fields_.emplace(fields.begin(), fields.end());
    }

    /// invalid_argument, naming the field, where one has another type than in an earlier step: readers take a
    /// field of a series for one array. Keeps the types of those that are new. Local.
    [[nodiscard]] Status check_types(std::span<const format::FieldDescription> fields);
    /// Whether all ranks put the same fields at the same time and none has found a mistake (`local`);
    /// are_blocks_new also where the fields are new. Collective; one small all-reduce when all is well.
    StepAgreement agree_on_step(const Comm& comm, const Status& local, double time,
                                std::span<const format::FieldDescription> fields,
                                std::span<const HeldField> held, bool are_statics_new);
    /// After blocks were found to be new: that none overlap, and what nobody put. Collective.
    mpi::Agreed agree_on_blocks(const Comm& comm, std::span<const format::FieldDescription> fields,
                                std::span<const HeldField> held);
    /// In place of that, where parts neither overlap nor leave gaps, as a mesh's do. Local.
    void keep_blocks(std::span<const HeldField> held);
    /// For each field with a fill value, the blocks that no rank put; equal on all ranks.
    [[nodiscard]] const std::vector<std::vector<Block>>& uncovered() const noexcept { return uncovered_; }

  private:
    void keep(std::span<const HeldField> held);

    std::optional<std::vector<format::FieldDescription>> fields_;
    std::map<std::string, format::ValueType> types_;  // of the fields of all steps
    std::vector<std::vector<Block>> blocks_;          // this rank's, of each field
    std::vector<std::vector<Block>> uncovered_;
};

}  // namespace hakobi::output
