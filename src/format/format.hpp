#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/block.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "format/growing_format.hpp"
#include "format/layout.hpp"
#include "format/series_format.hpp"
#include "format/step.hpp"
#include "format/store_format.hpp"

namespace hakobi::format {

/// The facts about a format, and its optional parts, which live as long as the process.
struct Traits {
    std::string_view name;
    std::string_view extension;
    Rules rules = {};
    bool holds_chunks = false;
    bool holds_meshes = false;
    filter::Frame frame = filter::Frame::none;
    const GrowingFormat* growing = nullptr;
    const StoreFormat* store = nullptr;
    const SeriesFormat* series = nullptr;
};

/// A file format: what a step's file holds around its values. A format only lays files out: whoever moves
/// values needs to know where they go, and rank 0, which writes the metadata, their bytes. All functions are
/// local and may be called by any thread; those that take no path are pure: equal descriptions give equal
/// results. A new format is one folder and one line in registry.cpp, and passes
/// tests/output/contract_test.cpp with every method.
class Format {
  public:
    virtual ~Format() = default;
    explicit Format(const Traits& traits) : traits_(traits) {}
    Format(const Format&) = delete;
    Format& operator=(const Format&) = delete;

    /// Its name in OutputOptions::format: "netcdf4".
    [[nodiscard]] std::string_view name() const { return traits_.name; }
    /// How its files' names end: ".nc". No format's extension is the beginning of another's.
    [[nodiscard]] std::string_view extension() const { return traits_.extension; }
    /// For check_description.
    [[nodiscard]] const Rules& rules() const { return traits_.rules; }
    /// Whether the files can hold compressed fields, which are stored in filtered chunks.
    [[nodiscard]] bool holds_chunks() const { return traits_.holds_chunks; }
    /// Whether the files hold fields on a mesh (mesh_arrays.hpp) rather than on axes.
    [[nodiscard]] bool holds_meshes() const { return traits_.holds_meshes; }
    /// The header that a packed chunk has.
    [[nodiscard]] filter::Frame frame() const { return traits_.frame; }
    /// For files that take one step after another; nullptr where a file holds one.
    [[nodiscard]] const GrowingFormat* growing() const { return traits_.growing; }
    /// Where the format keeps all steps of a series in one store; else nullptr, and a step is a file.
    [[nodiscard]] const StoreFormat* store() const { return traits_.store; }
    /// For files that show a whole series; nullptr where no file of the format does.
    [[nodiscard]] const SeriesFormat* series() const { return traits_.series; }

    /// Whether the format's files can hold a step that passed check_description; every rank asks before the
    /// step is laid out. Returns unsupported or invalid_argument, naming the field, where they cannot.
    [[nodiscard]] virtual Status check(const StepDescription& /*step*/) const { return {}; }
    /// Lays out the file of a step that passed both checks. `chunks` has one entry a field: all its chunks
    /// where it is stored in such, none otherwise; it may be empty where no field is. Returns out_of_memory,
    /// or internal with the library's text.
    [[nodiscard]] virtual Result<Layout> lay_out(
        const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks = {}) const = 0;
    /// Reads what a step's file says of its fields; their values are not read. Returns not_found or
    /// permission; format where it is no file of this format, or is damaged; unsupported where such files are
    /// not read back.
    [[nodiscard]] virtual Result<FoundStep> read(const std::string& path) const = 0;
    /// The same of a file that lies elsewhere than the files that it links to: a field of one of these
    /// (FoundField::file) has its name and link alone.
    [[nodiscard]] virtual Result<FoundStep> read_alone(const std::string& path) const { return read(path); }
    /// Reads a block of values that are not contiguous in their file; `values` get its elements in C order.
    /// Returns what `read` does, and unsupported for a codec that is not there.
    [[nodiscard]] virtual Status read_values(const std::string& path, const FoundField& field,
                                             const Block& block, std::span<std::byte> values,
                                             std::int64_t step_in_file) const = 0;

  private:
    const Traits traits_;
};

}  // namespace hakobi::format
