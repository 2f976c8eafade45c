#pragma once

#include <cstdint>
#include <hakobi/attribute.hpp>
#include <hakobi/block.hpp>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <hakobi/field.hpp>
#include <hakobi/if_exists.hpp>
#include <hakobi/output.hpp>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// Options of Outputs::create; equal on every rank.
struct OutputsOptions {
    std::string time_units = "s";  ///< of begin_step's time, and in all files
    std::string calendar = {};     ///< OutputOptions::calendar
    /// When the run began: what is put in the first step stands for the time since then. Unset: with the
    /// first step, whose values stand for no time; minimum, maximum and range have them.
    std::optional<double> begin_time = {};
    /// Holds for all outputs. `resume` goes on from the newest checkpoint, or from resume_at; without one,
    /// from the beginning. Steps that an output has already are not written again.
    IfExists if_exists = IfExists::fail;
    std::optional<double> resume_at = {};  ///< the time of a checkpoint that is there
};

/// A field of an output, made of one that is put.
struct DerivedField {
    std::string of;  ///< the field that is put
    /// "point" (or ""): its values at the steps that the output has. "mean", "minimum", "maximum", "sum",
    /// "variance", "standard_deviation", "range", "count above 300": of the interval that ends there. Means
    /// and variances are weighted by the time since the step before, or, where intervals are numbers of
    /// steps, not.
    std::string cell_method = {};
    std::string name = {};       ///< "": of, and with a method "t_mean"
    std::string long_name = {};  ///< "": the field's
    Attributes attributes = {};  ///< besides the field's
    /// As in FieldDefinition; "" and 0: the field's.
    std::string compression = {};
    int significant_bits = 0;
    std::string store_as = {};
};

/// Several outputs of a program from one put per field and step: its values at some steps, and their means,
/// extremes and others over intervals, by CF's cell_methods.
///
///     auto outs = hakobi::Outputs::create(comm, "run.state", {.time_units = "seconds since 2000-01-01"});
///     auto t = outs.define({.name = "t", .units = "K", .global = {ny, nx}});
///     outs.add("hourly", {.axes = axes}, "1h", {{.of = "t"}});
///     outs.add("daily", {.axes = axes}, "1 day",
///              {{.of = "t", .cell_method = "mean"}, {.of = "t", .cell_method = "maximum"}});  // t_mean, t_maximum
///     … outs.begin_step(time); outs.put(t, block, values); outs.end_step(); …
///     outs.close();
///
/// Each output is an Output, with its steps at the ends of its intervals. Values accumulate in double,
/// element by element, so the files' bytes do not depend on the number of ranks. Missing values (the field's
/// fill_value, NaN) are left out; where an interval has none, the result is missing. `checkpoint` stores what
/// has accumulated, and a run that resumes there, on any number of ranks, writes the bytes of one that was
/// never interrupted.
///
/// Errors as in Output. After one, all calls but `close` throw `failed`.
class HAKOBI_EXPORT Outputs {
  public:
    /// Collective. `prefix` is that of the checkpoints: `<prefix>.0_000000.nc` and `<prefix>.1_000000.nc` in
    /// turns. Throws exists where it has some and if_exists is `fail`; not_found for a resume_at without one.
    [[nodiscard]] static Outputs create(const Comm& comm, std::string_view prefix,
                                        OutputsOptions options = {});

    Outputs(Outputs&&) noexcept;
    Outputs& operator=(Outputs&&) noexcept;
    ~Outputs();  ///< never communicates; what has accumulated since the last checkpoint is lost

    /// Defines a field that is put. Local, in the same order on all ranks. Its store_as, compression and
    /// significant_bits are those of derived fields that say none. Throws invalid_argument for a name that is
    /// defined.
    [[nodiscard]] FieldId define(const FieldDefinition& definition);
    /// Adds an output with these fields, which has a step at the end of each interval. Collective; all
    /// arguments equal on all ranks; before the first step. `every`: "" each step; a number of steps, "10
    /// steps"; a time, "6h", "30 min", "1 day", "month", "year", or "0.25" in time_units: at its multiples,
    /// counted from time 0, which must be times of steps; "run": all of the run since it began or was last
    /// closed, written by close. The options' time_units, calendar and if_exists are those of all outputs.
    /// Throws as Output::create and Output::define; not_found for a field that is not defined; unsupported
    /// for a format or a field of meshes, and for methods of 64-bit integers.
    void add(std::string_view prefix, OutputOptions options, std::string_view every,
             const std::vector<DerivedField>& fields);

    /// The time of the checkpoint that the run goes on from: its first step is a later one. Unset: it begins.
    [[nodiscard]] std::optional<double> resume_time() const;

    /// Opens a step at model time `time`, equal on all ranks and later than the one before. Local. Throws
    /// invalid_argument, and changes nothing, for a time that is not, or that passes the end of an interval.
    void begin_step(double time);
    /// As Output::put. The blocks of a field are the same in each step.
    void put(FieldId field, const Block& block, Field::Data data, const MemoryLayout& layout = {});
    /// As Output::refuse: every output's next step fails with this reason. Local.
    void refuse(std::string_view reason);
    /// Adds the values to what they belong to, and writes the outputs that have a step here. Collective; it
    /// communicates where there are any. A mistake in a step is an error where the next one is written.
    void end_step();
    /// Stores what has accumulated up to the last step, behind all steps of all outputs: a run can go on from
    /// here. Collective. The two newest checkpoints are kept. Call it when the program has stored its own
    /// state of this time, and on resuming take the state of resume_time.
    void checkpoint();
    /// Writes the outputs of "run", stores a checkpoint, says on stderr which intervals have not ended, and
    /// closes all outputs. Collective.
    void close();

    /// A text for people, a line an output. Local.
    [[nodiscard]] std::string explain() const;

  private:
    struct Impl;
    explicit Outputs(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace hakobi
