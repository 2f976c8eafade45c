#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "format/format.hpp"
#include "format/found_step.hpp"
#include "format/layout.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

/// The names of a step's file and what happens to them; all local, called by the one rank that cares for the
/// file.

/// "<prefix>_000012.nc" with a format's extension, and the name it has until it is whole; series.hpp has the table of
/// names. Whoever may write to the folder could make that name a trap: `token` is one that nobody can foretell.
inline constexpr std::string_view part_suffix = ".part", whole_suffix = ".whole";
/// How the name of a run's folder on a stage ends.
inline constexpr std::string_view stage_suffix = ".stage";
[[nodiscard]] std::string step_path(std::string_view prefix, std::int64_t step, std::string_view extension);
[[nodiscard]] std::string part_path(const std::string& path, std::uint64_t token);
/// The name of a hidden step's file between `part`, once all its bytes are stored, and the final one.
[[nodiscard]] std::string whole_path(const std::string& part);
/// The token in a name that ends with 16 digits and one of the suffixes; nothing where it is no such name.
[[nodiscard]] std::optional<std::uint64_t> token_in(std::string_view path);
/// The folder a file is in: "." for a bare name.
[[nodiscard]] std::string folder_of(const std::string& path);

/// `exists` when something has the name; with `is_file_right` a regular file or a link may.
Status check_free(const std::string& path, bool is_file_right = false);

/// Whether the file has further names (hard links): `cp -al` has made a copy of its folder that shows whatever is written to it. Local.
[[nodiscard]] bool has_other_names(const std::string& path);

/// Writes a layout's metadata to its places, up to the first error.
[[nodiscard]] Status write_metadata(storage::File& file, std::span<const format::Extent> metadata);

/// Makes the file at `path`, which must not exist unless it was made, empty, with its layout: metadata written, size set, values
/// still zero. Where that fails no file is left.
Status create_file(const std::string& path, std::span<const format::Extent> metadata, std::int64_t file_bytes,
                   bool is_made = false);

/// The same for the step of a layout: of one that has members (format/layout.hpp) the folder of them, "joined:" and `path`, in
/// which the step's description tells who adds it to its store.
Status create_step(const std::string& path, const format::Layout& layout,
                   std::span<const format::Extent> metadata, const format::StepDescription& step,
                   bool is_made = false);

/// Makes a step part of a file that takes several, whose values are stored: writes format::Layout::commit; with `sync` each part is on
/// stable storage before the last one is written, and that one on return. `before`: how the file must begin; empty: anyhow. exists where it does not:
/// somebody else has written to it.
Status commit_step(const std::string& path, std::span<const format::Extent> commit,
                   std::span<const std::byte> before, bool sync);
/// The first `num_bytes` of a file, or fewer where it is shorter.
Result<std::vector<std::byte>> read_beginning(const std::string& path, std::int64_t num_bytes);
/// Makes a file at least so long; what is new is zeros.
Status make_longer(const std::string& path, std::int64_t file_bytes);
/// Makes a file that is longer than `file_bytes` so long.
/// One that does not begin with `begins` stays: a step was committed to it after all.
Status cut_file(const std::string& path, std::int64_t file_bytes, std::span<const std::byte> begins = {});

/// Gives the whole file its final name, which nothing has (`exists`); with `sync` after its bytes, and before the name,
/// are on stable storage.
Status finish_file(const std::string& part, const std::string& path, bool sync);

/// Where the steps of a series are that go over a stage (stage.hpp): "…/run.0123456789abcdef.stage/run". "" where the folder is no
/// such one. Pure.
[[nodiscard]] std::string series_on_stage(const std::string& folder);

/// The same for a step's file. The members of a step that its format keeps in a store go there, as the folder's description
/// says; on a stage, whence they go to their store (carrier.hpp), their folder gets the step's name.
Status finish_step(const std::string& part, const std::string& path, bool sync);

/// Adds the step whose members are in `folder` to the store that has the step of that name. Returns what Format::add_step does, and
/// format where the folder is damaged.
Status add_to_store(const std::string& folder, const std::string& path, const format::Adding& how);

/// Reads the step with that name from its file, or from its format's store. Returns what Format::read does.
Result<format::FoundStep> read_step(const std::string& path);
/// The format of a step's file, by its name; null where it is none of a step.
[[nodiscard]] const format::Format* format_of_step(const std::string& path);
/// The store that has the step with that name; "" where its format keeps a file a step.
[[nodiscard]] std::string store_of(const std::string& path);

/// The same for a file that replaces the one of that name, in one step.
Status replace_file(const std::string& part, const std::string& path, bool sync);

/// Removes a file at the end of its life unless `keep` was called: whatever leaves the scope, also an exception.
class Discarding {
  public:
    explicit Discarding(std::string path) : path_(std::move(path)) {}
    ~Discarding() {
        if (!path_.empty()) storage::discard_file(path_);
    }
    Discarding(const Discarding&) = delete;
    Discarding& operator=(const Discarding&) = delete;
    void keep() noexcept { path_.clear(); }

  private:
    std::string path_;
};

}  // namespace hakobi::series
