#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "format/format.hpp"
#include "format/found_step.hpp"
#include "format/layout.hpp"
#include "series/names.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

/// The life of a step's file under the names of names.hpp; all local, called by the one rank that cares for
/// the file.

/// `exists` when something has the name; with `is_file_right` a regular file or a link may.
Status check_free(const std::string& path, bool is_file_right = false);

/// Whether the file has further names (hard links): `cp -al` has made a copy of its folder that shows
/// whatever is written to it. Local.
[[nodiscard]] bool has_other_names(const std::string& path);

/// Writes a layout's metadata to its places, up to the first error.
[[nodiscard]] Status write_metadata(storage::File& file, std::span<const format::Extent> metadata);

/// Makes the file at `path`, which must not exist unless it was made, empty, with its layout: metadata
/// written, size set, values still zero. Where that fails no file is left.
Status create_file(const std::string& path, std::span<const format::Extent> metadata, std::int64_t file_bytes,
                   bool is_made = false);

/// The same for the step of a layout: of one that has members (format/layout.hpp) the folder of them,
/// "joined:" and `path`, in which the step's description tells who adds it to its store.
Status create_step(const std::string& path, const format::Layout& layout,
                   std::span<const format::Extent> metadata, const format::StepDescription& step,
                   bool is_made = false);

/// Makes a step part of a file that takes several, whose values are stored: writes format::Layout::commit;
/// with `sync` each part is on stable storage before the last one is written, and that one on return.
/// `before`: how the file must begin; empty: anyhow. exists where it does not: somebody else has written to
/// it.
Status commit_step(const std::string& path, std::span<const format::Extent> commit,
                   std::span<const std::byte> before, bool sync);
/// The first `num_bytes` of a file, or fewer where it is shorter.
Result<std::vector<std::byte>> read_beginning(const std::string& path, std::int64_t num_bytes);
/// Makes a file at least so long; what is new is zeros.
Status make_longer(const std::string& path, std::int64_t file_bytes);
/// Makes a file that is longer than `file_bytes` so long.
/// One that does not begin with `begins` stays: a step was committed to it after all.
Status cut_file(const std::string& path, std::int64_t file_bytes, std::span<const std::byte> begins = {});

/// Brings a file and its name to stable storage.
Status sync_named(const std::string& path);

/// Gives the whole file its final name, which nothing has (`exists`); with `sync` after its bytes, and before
/// the name, are on stable storage.
Status finish_file(const std::string& part, const std::string& path, bool sync);

/// The same for a step's file. The members of a step that its format keeps in a store go there, as the
/// folder's description says; on a stage, whence they go to their store (carrier.hpp), their folder gets the
/// step's name.
Status finish_step(const std::string& part, const std::string& path, bool sync);

/// Adds the step whose members are in `folder` to the store that has the step of that name. Returns what
/// StoreFormat::add_step does, and format where the folder is damaged.
Status add_to_store(const std::string& folder, const std::string& path, const format::Adding& how);

/// Whether an error of a step on its way to its place is the step's alone, and would come again: what is
/// stored of it is damaged (format), something has its place (exists), or the series' store does not take it
/// (invalid_argument). Others are the storage's, and of every step behind it, too. Pure.
[[nodiscard]] bool is_of_step_alone(ErrorCode code) noexcept;

/// Reads the step with that name from its file, or from its format's store. Returns what Format::read does.
Result<format::FoundStep> read_step(const std::string& path);
/// The format of a step's file, by its name; null where it is none of a step.
[[nodiscard]] const format::Format* format_of_step(const std::string& path);
/// The store that has the step with that name; "" where its format keeps a file a step.
[[nodiscard]] std::string store_of(const std::string& path);

/// The same for a file that replaces the one of that name, in one step.
Status replace_file(const std::string& part, const std::string& path, bool sync);

/// Removes a file at the end of its life unless `keep` was called: whatever leaves the scope, also an
/// exception.
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
