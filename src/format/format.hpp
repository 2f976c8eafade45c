#pragma once

#include <hakobi/block.hpp>
#include <memory>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "format/found_step.hpp"
#include "format/growing_file.hpp"
#include "format/layout.hpp"
#include "format/series.hpp"
#include "format/step.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::format {

/// How a step becomes part of a store.
struct Adding {
    bool sync = false;  ///< it is on stable storage on return
    /// Where it is set the step's folder is on other storage, a stage: files are copied at this pace, and the
    /// folder goes last.
    storage::Pace pace = {};
    /// Nobody has added it: `exists` where the store has a step of its number.
    bool is_new = false;
    /// The version of a store on objects, as the caller that added the steps before left it; "": none was.
    /// `exists` where others have changed the store since.
    std::string* version = nullptr;
};

/// The fields of a store's steps, as a run that adds to them knows them. Local, without access to storage.
class StoredFields {
  public:
    virtual ~StoredFields() = default;
    StoredFields() = default;
    StoredFields(const StoredFields&) = delete;
    StoredFields& operator=(const StoredFields&) = delete;
    /// Counts the step among those that later ones have to go with. invalid_argument, naming the field, where
    /// it does not go with those before, or its coordinates are in none of them.
    virtual Status take(const StepDescription& step) = 0;
};

/// A file format: what a step's file holds around its values. A format only lays files out: whoever moves
/// values needs to know where they go, and rank 0, which writes the metadata, their bytes. All functions are
/// local and may be called by any thread; those that take no path are pure: equal descriptions give equal
/// results. A new format is one folder and one line in registry.cpp, and passes
/// tests/output/contract_test.cpp with every method.
class Format {
  public:
    virtual ~Format() = default;
    Format() = default;
    Format(const Format&) = delete;
    Format& operator=(const Format&) = delete;

    /// Its name in OutputOptions::format: "netcdf4".
    [[nodiscard]] virtual std::string_view name() const = 0;
    /// How its files' names end: ".nc". No format's extension is the beginning of another's.
    [[nodiscard]] virtual std::string_view extension() const = 0;
    /// For check_description.
    [[nodiscard]] virtual Rules rules() const { return {}; }
    /// Whether the format's files can hold a step that passed check_description; every rank asks before the
    /// step is laid out. Returns unsupported or invalid_argument, naming the field, where they cannot.
    [[nodiscard]] virtual Status check(const StepDescription& /*step*/) const { return {}; }
    /// Whether the files can hold compressed fields, which are stored in filtered chunks.
    [[nodiscard]] virtual bool holds_chunks() const { return false; }
    /// Whether the files hold fields on a mesh (mesh_arrays.hpp) rather than on axes.
    [[nodiscard]] virtual bool holds_meshes() const { return false; }
    /// The header that a packed chunk has.
    [[nodiscard]] virtual filter::Frame frame() const { return filter::Frame::none; }
    /// Lays out the file of a step that passed both checks. `chunks` has one entry a field: all its chunks
    /// where it is stored in such, none otherwise; it may be empty where no field is. Returns out_of_memory,
    /// or internal with the library's text.
    [[nodiscard]] virtual Result<Layout> lay_out(
        const StepDescription& step, std::span<const std::vector<StoredChunk>> chunks = {}) const = 0;
    /// Whether a file can take one step after another (OutputOptions::steps_per_file).
    [[nodiscard]] virtual bool holds_steps() const { return false; }
    /// A new such file. Returns unsupported where holds_steps is false.
    [[nodiscard]] virtual Result<std::unique_ptr<GrowingFile>> begin_file() const {
        return Status(ErrorCode::unsupported, "a file of this format holds one step");
    }
    /// One that has steps already, for a run that goes on behind them with steps like `next`.
    /// invalid_argument, saying why, where the file is no such file, was changed by others, or has other
    /// fields: a new file takes the step then. Else as `read`.
    [[nodiscard]] virtual Result<std::unique_ptr<GrowingFile>> resume_file(
        const std::string& /*path*/, const StepDescription& /*next*/) const {
        return Status(ErrorCode::unsupported, "a file of this format holds one step");
    }
    /// Reads what a step's file says of its fields; their values are not read. Returns not_found or
    /// permission; format where it is no file of this format, or is damaged; unsupported where such files are
    /// not read back.
    [[nodiscard]] virtual Result<FoundStep> read(const std::string& path) const = 0;
    /// The same of a file that lies elsewhere than the files that it links to: a field of one of these
    /// (FoundField::file) has its name and link alone.
    [[nodiscard]] virtual Result<FoundStep> read_alone(const std::string& path) const;
    /// Turns what `read` found into a description for lay_out_series. Fields that the format could not write
    /// are left out.
    [[nodiscard]] virtual StepDescription description_of(const FoundStep& /*found*/) const { return {}; }

    /// Reads a block of values that are not contiguous in their file; `values` get its elements in C order.
    /// Returns what `read` does, and unsupported for a codec that is not there.
    [[nodiscard]] virtual Status read_values(const std::string& path, const FoundField& field,
                                             const Block& block, std::span<std::byte> values,
                                             std::int64_t step_in_file) const = 0;

    // A format may keep all steps of a series in one store, PREFIX + extension, rather than a file each. A
    // step is then several files (Layout::members) in a folder of their own, until whoever holds the prefix's
    // lock adds them to the store: whole, or not at all, whenever that one is killed.
    [[nodiscard]] virtual bool has_store() const { return false; }
    /// The whole steps in it, ascending; none where it is missing. Returns unsupported for what is no store
    /// of Hakobi's, format for a damaged one.
    [[nodiscard]] virtual Result<std::vector<std::int64_t>> steps_in(const std::string& /*store*/) const {
        return std::vector<std::int64_t>();
    }
    /// As `read`; where values are in files of the store, FoundField::file leads to them from the store's
    /// folder.
    [[nodiscard]] virtual Result<FoundStep> read_stored(const std::string& store,
                                                        std::int64_t /*number*/) const;
    /// The fields of a store, which may be missing. Null where the format has none.
    [[nodiscard]] virtual Result<std::unique_ptr<StoredFields>> fields_in(
        const std::string& /*store*/) const {
        return std::unique_ptr<StoredFields>();
    }
    /// Adds the step whose members are in `folder`, which goes, from an add that was killed, too.
    [[nodiscard]] virtual Status add_step(const std::string& /*folder*/, const std::string& /*store*/,
                                          std::int64_t /*number*/, const StepDescription& /*step*/,
                                          const Adding& /*how*/) const {
        return {};
    }
    /// Ends what a killed run has left undone that readers of the store could notice.
    [[nodiscard]] virtual Status mend_store(const std::string& /*store*/) const { return {}; }
    /// Removes it, but for what others put into it.
    [[nodiscard]] virtual Status remove_store(const std::string& /*store*/) const { return {}; }

    /// Whether a file of the format can show a whole series, whose values stay in the steps' files.
    [[nodiscard]] virtual bool shows_series() const { return false; }
    /// Lays out such a file for the folder where its sources are, which may be read. All of it is metadata.
    /// Returns unsupported where shows_series is false.
    [[nodiscard]] virtual Result<Layout> lay_out_series(const SeriesDescription& /*series*/,
                                                        const std::string& /*folder*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Reads what such a file says, without values; of a static field, one of the sources that have it.
    /// Returns format for any other file.
    [[nodiscard]] virtual Result<SeriesDescription> read_series(const std::string& /*path*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Reads the first `num_records` records of fields that the file of a step, of several, or of a part of a
    /// series has, in C order. Errors are `read`'s.
    [[nodiscard]] virtual Result<std::vector<std::vector<std::byte>>> read_records(
        const std::string& /*path*/, std::span<const FieldDescription> /*fields*/,
        std::int64_t /*num_records*/) const {
        return Status(ErrorCode::unsupported, "no file of this format shows a series");
    }
    /// Whether the file may be replaced by a new one of its kind: it shows a series, or is what a crash left
    /// of one that did.
    [[nodiscard]] virtual bool is_series_or_rest(const std::string& /*path*/) const { return false; }
};

}  // namespace hakobi::format
