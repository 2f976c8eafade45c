#pragma once

#include <array>
#include <cstdint>
#include <hakobi/output.hpp>
#include <hakobi/outputs.hpp>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnostics/accumulator.hpp"
#include "diagnostics/cell_method.hpp"
#include "diagnostics/interval.hpp"
#include "diagnostics/source.hpp"

namespace hakobi::diagnostics {

/// A step of the program, as outputs see it.
struct ProgramStep {
    double time = 0;
    double length = 0;       ///< time since the step before
    double weight = 0;       ///< the length in units of the first one
    std::int64_t index = 0;  ///< of all steps of the run, from 0
    [[nodiscard]] bool is_first() const { return index == 0; }
};

/// One output, and what has accumulated for its next step.
class IntervalOutput {
  public:
    /// The arguments of an output.
    struct Given {
        std::string name, every;
        std::vector<std::string> axes = {};  ///< their names
        bool syncs = false, is_rank_0 = false;
    };
    IntervalOutput(Output output, const Interval& interval, Given given);

    /// A field of the output.
    struct Described {
        CellMethod method = {};
        FieldDefinition definition = {};
    };
    /// Describes it, of one that is put; throws where that cannot be. `interval`, `name`: the output's.
    /// Local.
    [[nodiscard]] static Described described(const DerivedField& field, const Source& from,
                                             const Interval& interval, const std::string& name);
    /// Defines it; the `source`-th is put. Collective: throws what Output::define does.
    void write(Described field, const Source& from, std::size_t source);
    /// All fields are there: throws invalid_argument where one names coordinates that are not. Local.
    void check_coordinates() const;
    /// Steps up to this time are there already.
    void skip_to(double time) { written_to_ = time; }
    [[nodiscard]] double written_to() const { return written_to_; }
    [[nodiscard]] bool syncs() const { return given_.syncs; }
    [[nodiscard]] bool writes() const { return output_.method() != "none"; }
    /// Says on stderr where the steps that are there are others than a run that goes on from `time` expects,
    /// which had them up to `written_to`.
    void warn_of_gap(double time, double written_to) const;
    /// The same where there is no checkpoint.
    void warn_of_steps() const;

    /// The run begins at that time.
    void begin(double time);
    /// Whether a step ends an interval, or why it cannot follow.
    [[nodiscard]] Result<bool> is_due(const ProgramStep& step) const;
    /// The open step ends an interval, or does not.
    void set_due(bool is_due) { has_step_ = is_due; }
    [[nodiscard]] bool has_step() const { return has_step_; }
    /// Adds the step's values. A mistake is kept for the output's next step.
    void add(const ProgramStep& step, std::span<Source> sources, const Comm& comm, io::DeviceMemory& device);
    /// A mistake of the program's, which ends the output's next step.
    void keep_mistake(Status status) { mistake_.keep_first(std::move(status)); }
    /// Writes the interval that ends with the step, and begins the next. Collective.
    void end_interval(const ProgramStep& step, std::span<Source> sources);
    /// Stores the steps that are written. Collective.
    void flush() { output_.flush(); }
    void close() { output_.close(); }

    [[nodiscard]] bool is_of_run() const { return interval_.is_run(); }
    /// Some values have accumulated, and no step has them yet.
    [[nodiscard]] bool is_inside() const { return place_.num_puts > 0 && !accumulated_.empty(); }
    [[nodiscard]] const std::string& name() const { return given_.name; }
    /// The first mistake that was made since the last step. Local.
    [[nodiscard]] const Status& mistake() const { return mistake_; }
    [[nodiscard]] std::string explain() const;

    // For checkpoints:
    /// "every '6h': t_mean of t (time: mean)": equal for outputs that can go on from each other's
    /// checkpoints.
    [[nodiscard]] std::string description(std::span<const Source> sources) const;
    struct Accumulated {
        std::size_t source = 0;
        Accumulator accumulator;
        std::vector<Block> blocks = {};  ///< of this rank, whose elements follow each other

        /// Calls `visit(block, its first element, their number)`.
        template <class Visit>
        void for_each_block(Visit visit) const {
            std::size_t first = 0;
            for (const Block& block : blocks) {
                const auto num = static_cast<std::size_t>(output::num_values_of(block));
                visit(block, first, num);
                first += num;
            }
        }
    };
    [[nodiscard]] std::span<Accumulated> accumulated() { return accumulated_; }
    struct Place {
        double begin = 0, end = std::numeric_limits<double>::infinity();
        std::int64_t num_puts = 0;
    };
    [[nodiscard]] const Place& place() const { return place_; }
    void set_place(const Place& place) { place_ = place; }
    /// Has each accumulator begin with the blocks that were put in this step, before it goes on from a
    /// checkpoint.
    void begin_blocks(std::span<Source> sources, const Comm& comm, io::DeviceMemory& device);

  private:
    struct Written {
        std::size_t source = 0;
        CellMethod method = {};
        FieldId id = {};
        FieldDefinition definition = {};
        std::int64_t version = 0;          // of a static field
        std::vector<double> results = {};  // as long as a step may be lent them
        std::vector<float> small = {};
    };
    [[nodiscard]] bool has_intervals() const { return !interval_.is_each_step(); }
    /// The fields that the accumulators give. Local.
    void compute(Written& field) const;
    void put_results(const Written& field);
    /// All that the open step has of this rank. Local.
    void put_all(const ProgramStep& step, std::span<Source> sources);
    void put_bounds(double time);
    void put_point(const Written& field, const Source& source, double time);
    void put_static(Written& field, const Source& source);
    [[nodiscard]] Status add_source(const ProgramStep& step, Accumulated& one, Source& source,
                                    const Comm& comm, io::DeviceMemory& device) const;

    Output output_;
    Interval interval_;
    Given given_;
    std::vector<Written> fields_;
    std::vector<Accumulated> accumulated_;
    struct Bounds {
        std::optional<FieldId> id = {};
        std::array<double, 2> values{};
    } bounds_;  // of time
    Place place_;
    bool has_step_ = false;  // in the open one of the program
    double written_to_ = -std::numeric_limits<double>::infinity();
    Status mistake_;
};

}  // namespace hakobi::diagnostics
