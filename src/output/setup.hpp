#pragma once

#include <hakobi/output.hpp>
#include <memory>
#include <optional>
#include <string>

#include "filter/filters.hpp"
#include "format/format.hpp"
#include "format/packing.hpp"
#include "io/options.hpp"
#include "mpi/agree.hpp"
#include "output/hidden.hpp"
#include "output/method.hpp"
#include "output/staging.hpp"

namespace hakobi::output {

/// The settings of an Output: the caller's arguments of create, and what they resolve to.
///
/// Invariant: complete, and equal on all ranks, when create has agreed on it; nothing but the method's own
/// state changes after that.
struct Setup {
    Comm comm;
    std::string prefix;
    OutputOptions options;
    storage::PlaceLimits place = {};  ///< of the prefix
    const format::Format* format = nullptr;
    const MethodEntry* entry = nullptr;  ///< what `method` is made by
    Hidden hidden = {};
    std::unique_ptr<Method> method = nullptr;
    filter::Filters filters = {};                 ///< of fields that do not ask for others
    std::optional<format::Packing> packing = {};  ///< likewise, of float64
    /// Taken out of the options' hints; none where steps do not go over a stage.
    std::optional<StageOptions> stage = {};
    std::int64_t steps_per_file = 1;

    [[nodiscard]] bool writes() const { return entry->makes != Makes::nothing; }
    [[nodiscard]] bool writes_step_file() const { return entry->makes == Makes::step_file; }
    [[nodiscard]] bool is_rank_0() const { return comm.rank() == 0; }
    /// Finds the format and the method, and looks at all other options. invalid_argument says which is wrong.
    /// Local.
    Status find();
    /// A step's description as far as the options say it. Local.
    [[nodiscard]] format::StepDescription description() const;
    /// Whether all ranks gave the same to create and none has found a mistake (`local`). Collective.
    [[nodiscard]] mpi::Agreed agree(const Status& local) const;
    /// Makes the method; `hidden` is chosen. unsupported where format, method and options do not go together.
    /// Local.
    Status make_method();
    /// The hints, as far as they can be read here: a method may leave them to the MPI library. Local.
    [[nodiscard]] io::EngineOptions layout_options() const;
    /// "pipelined, hidden: …", for people: the method in force, and why output is hidden or not. Local.
    [[nodiscard]] std::string text() const;
};

}  // namespace hakobi::output
