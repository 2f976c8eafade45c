#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/status.hpp"
#include "format/layout.hpp"
#include "storage/file.hpp"

namespace hakobi::series {

/// The names of a step's file and what happens to them; all local, called by the one rank that cares for the
/// file.

/// "<prefix>_000012.nc" with a format's extension, and the name it has until it is whole; series.hpp has the table of
/// names. Whoever may write to the folder could make that name a trap: `token` is one that nobody can foretell.
inline constexpr std::string_view part_suffix = ".part", whole_suffix = ".whole";
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

/// Writes a layout's metadata to its places, up to the first error.
[[nodiscard]] Status write_metadata(storage::File& file, std::span<const format::Extent> metadata);

/// Makes the file at `path`, which must not exist unless it was made, empty, with its layout: metadata written, size set, values
/// still zero. Where that fails no file is left.
Status create_file(const std::string& path, std::span<const format::Extent> metadata, std::int64_t file_bytes,
                   bool is_made = false);

/// Makes a step part of a file that takes several, whose values are stored: writes format::Layout::commit; with `sync` each part is on
/// stable storage before the last one is written, and that one on return. `before`: how the file must begin; empty: anyhow. exists where it does not:
/// somebody else has written to it.
Status commit_step(const std::string& path, std::span<const format::Extent> commit,
                   std::span<const std::byte> before, bool sync);
/// Makes a file at least so long; what is new is zeros.
Status make_longer(const std::string& path, std::int64_t file_bytes);
/// Makes a file that is longer than `file_bytes` so long.
void cut_file(const std::string& path, std::int64_t file_bytes) noexcept;

/// Gives the whole file its final name, which nothing has (`exists`); with `sync` after its bytes, and before the name,
/// are on stable storage.
Status finish_file(const std::string& part, const std::string& path, bool sync);

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
