#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "format/growing_file.hpp"
#include "format/layout.hpp"
#include "format/series.hpp"
#include "format/step.hpp"

namespace hakobi::format {

struct FoundStep;

/// A file format: what a step's file holds around its values. A format only lays files out: whoever moves values needs to
/// know where they go, and rank 0, which writes the metadata, their bytes. All functions are local and may be called by any
/// thread; those that take no path are pure: equal descriptions give equal results. A new format is one folder and one line
/// in registry.cpp, and passes tests/output/contract_test.cpp with every method.
class Format {
  public:
    virtual ~Format() = default;
    Format() = default;
    Format(const Format&) = delete;
    Format& operator=(const Format&) = delete;

    /// What OutputOptions::format calls it: "netcdf4".
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// How its files' names end: ".nc". No format's extension is the beginning of another's.
    [[nodiscard]] virtual std::string_view extension() const = 0;
    /// Whether the format's files can hold a step that passed check_description; every rank asks before the step is laid out.
    /// Returns unsupported or invalid_argument, naming the field, where they cannot.
    [[nodiscard]] virtual Status check(const StepDescription& /*step*/) const { return {}; }
    /// Whether the files can hold compressed fields, which are stored in filtered chunks.
    [[nodiscard]] virtual bool holds_chunks() const { return false; }
    /// Whether the files hold fields on a mesh (mesh_arrays.hpp) rather than on axes.
    [[nodiscard]] virtual bool holds_meshes() const { return false; }
    /// Lays out the file of a step that passed both checks. `chunks` has one entry a field: all its chunks where it is stored
    /// in such, none otherwise; it may be empty where no field is. Returns out_of_memory, or internal with the library's text.
    [[nodiscard]] virtual Result<Layout> lay_out(
        const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks = {}) const = 0;
    /// Whether a file can take one step after another (OutputOptions::steps_per_file).
    [[nodiscard]] virtual bool holds_steps() const { return false; }
    /// A new such file. Returns unsupported where holds_steps is false.
    [[nodiscard]] virtual Result<std::unique_ptr<GrowingFile>> begin_file() const {
        return Status(ErrorCode::unsupported, "a file of this format holds one step");
    }
    /// One that has steps already, for a run that goes on behind them with steps like `next`. invalid_argument, saying why, where the
    /// file is no such file, was changed by others, or has other fields: a new file takes the step then. Else as `read`.
    [[nodiscard]] virtual Result<std::unique_ptr<GrowingFile>> resume_file(
        const std::string& /*path*/, const StepDescription& /*next*/) const {
        return Status(ErrorCode::unsupported, "a file of this format holds one step");
    }
    /// Reads what a step's file says of its fields; their values are not read. Returns not_found or permission; format where it
    /// is no file of this format, or is damaged; unsupported where such files are not read back.
    [[nodiscard]] virtual Result<FoundStep> read(const std::string& path) const = 0;
    /// Turns what `read` found into a description for lay_out_series. Fields that the format could not write are left out.
    [[nodiscard]] virtual StepDescription description_of(const FoundStep& /*found*/) const { return {}; }

    /// Whether a file of the format can show a whole series, whose values stay in the steps' files.
    [[nodiscard]] virtual bool shows_series() const { return false; }
    /// Lays out such a file for the folder where its sources are, which may be read. All of it is metadata. Returns unsupported
    /// where shows_series is false.
    [[nodiscard]] virtual Result<Layout> lay_out_series(const SeriesDescription& /*series*/,
                                                        const std::string& /*folder*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Reads what such a file says; of a static field, one of the sources that have it. Returns format for any other file.
    [[nodiscard]] virtual Result<SeriesDescription> read_series(const std::string& /*path*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Whether the file may be replaced by a new one of its kind: it shows a series, or is what a crash left of one that did.
    [[nodiscard]] virtual bool is_series_or_rest(const std::string& /*path*/) const { return false; }
};

}  // namespace hakobi::format
