#pragma once

#include <cstdint>
#include <hakobi/input.hpp>
#include <hakobi/outputs.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/interval_output.hpp"

namespace hakobi::diagnostics {

/// How far a run has come.
struct Progress {
    double time = 0;     ///< of its last step
    double length = 0;   ///< of it
    double longest = 0;  ///< length of any
    /// Length of the run's first step that had any, and its time: what weights are measured in.
    double unit = 0, unit_time = 0;
    std::int64_t num_steps = 0;
};

/// The checkpoints of a run: what has accumulated, as a step of one of two series, which take turns. One is
/// whole while the other is replaced.
///
/// A step has `numbers` (the progress, four numbers an output, the weights), `outputs`, a text by which
/// another run is known, and each part of an accumulator as `part_<output>_<accumulator>_<part>`.
class Checkpoints {
  public:
    Checkpoints(const Comm& comm, std::string prefix, const OutputsOptions& options);

    /// Throws exists where there are some, or other series, or finds the one to resume from, as the options
    /// say. Collective.
    void claim();
    /// An output that writes has been added: removes those of a run that is replaced. Where there are none a
    /// place that takes none is an error now, and not when the first is due. Collective.
    void prepare();
    /// Null: the run begins.
    [[nodiscard]] const Progress* found() const { return found_ ? &found_->progress : nullptr; }
    /// Sets the outputs to where the checkpoint has them. Local; throws invalid_argument where it is of other
    /// outputs.
    void restore_places(std::span<IntervalOutput> outputs, std::span<const Source> sources) const;
    /// Says on stderr where outputs have other steps than the checkpoint knows of. Local, after
    /// restore_places.
    void warn_of_gaps(std::span<const IntervalOutput> outputs) const;
    /// Reads what their accumulators have, which have begun with this rank's blocks. Collective.
    void restore(std::span<IntervalOutput> outputs) const;
    /// Collective.
    void write(const Progress& progress, std::span<IntervalOutput> outputs, std::span<const Source> sources);
    /// Whether a prefix is that of checkpoints.
    [[nodiscard]] bool has(std::string_view prefix) const {
        return prefix == prefix_of(0) || prefix == prefix_of(1);
    }
    [[nodiscard]] std::string newest() const { return prefix_of(1 - next_turn_); }

  private:
    struct Found {
        Progress progress;
        std::string outputs;  // their descriptions
        std::vector<double> numbers;
    };
    [[nodiscard]] std::string prefix_of(int turn) const { return prefix_ + "." + std::to_string(turn); }
    /// Nothing where there is none, or no whole one, which is said on stderr; throws exists for a series that
    /// is none. Collective.
    [[nodiscard]] std::optional<Found> find(int turn) const;
    [[nodiscard]] std::string description(std::span<const IntervalOutput> outputs,
                                          std::span<const Source> sources) const;

    Comm comm_;
    std::string prefix_;
    OutputsOptions options_;
    int next_turn_ = 0;
    bool is_prepared_ = false;
    std::optional<Found> found_;
};

/// The time of the last step that a prefix has; minus infinity where it has none. Collective.
[[nodiscard]] double last_time_of(const Comm& comm, const std::string& prefix);

}  // namespace hakobi::diagnostics
