#pragma once

#include <span>
#include <string_view>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "format/series.hpp"
#include "format/step.hpp"

namespace hakobi::format {

struct FoundStep;

/// What a step's file holds around its values. A format lays out; who moves values needs no more than where they go, and
/// who writes metadata (rank 0) no more than their bytes. All functions are local, and all but `read` pure: equal descriptions
/// give equal results, and no file is touched. A new format is one folder, one line in registry.cpp, and passes
/// tests/output/contract_test.cpp with every method.
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
    /// What of a description that passed check_description the format cannot hold: unsupported or invalid_argument, naming
    /// the field. Called on every rank with the same description before the step is laid out.
    [[nodiscard]] virtual Status check(const StepDescription& /*step*/) const { return {}; }
    /// Whether its files can hold fields in filtered chunks.
    [[nodiscard]] virtual bool holds_chunks() const { return false; }
    /// Whether its files are of fields on a mesh (mesh_arrays.hpp), and not of fields on axes.
    [[nodiscard]] virtual bool holds_meshes() const { return false; }
    /// Lays out the file of a step that passed both checks; `chunks` has one entry a field, all chunks of those that are
    /// stored so. out_of_memory, or internal with the library's own text.
    [[nodiscard]] virtual Result<Layout> lay_out(
        const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks = {}) const = 0;
    /// What a step's file says of itself: format where it is none of this format, or torn; unsupported where its files are
    /// not read back. Reads the file.
    [[nodiscard]] virtual Result<FoundStep> read(const std::string& path) const = 0;
    /// What `read` found as a description, for lay_out_series: fields that the format could not write are left out.
    [[nodiscard]] virtual StepDescription description_of(const FoundStep& /*found*/) const { return {}; }

    /// Whether a file of the format can show a whole series, whose values stay in the steps' files.
    [[nodiscard]] virtual bool shows_series() const { return false; }
    /// Lays out such a file, for `folder`, where the sources are: they may be looked into. All of it is metadata.
    [[nodiscard]] virtual Result<Layout> lay_out_series(const SeriesDescription& /*series*/,
                                                        const std::string& /*folder*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// What such a file says; format where it is something else. Of a static field one source is known.
    [[nodiscard]] virtual Result<SeriesDescription> read_series(const std::string& /*path*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Whether nothing is lost where such a file is made anew: it shows a series, or is what a crash left of one that did.
    [[nodiscard]] virtual bool is_series_or_rest(const std::string& /*path*/) const { return false; }
};

}  // namespace hakobi::format
