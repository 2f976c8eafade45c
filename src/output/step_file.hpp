#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "format/netcdf4/layout.hpp"

namespace hakobi::output {

/// The names of a step's file and what happens to them; all local, called by the one rank that cares for the
/// file.

/// "<prefix>_000012.nc", and the name it has until it is whole.
[[nodiscard]] std::string step_path(std::string_view prefix, std::int64_t step);
[[nodiscard]] std::string part_path(const std::string& path);
/// The folder a file is in: "." for a bare name.
[[nodiscard]] std::string folder_of(const std::string& path);

/// Makes the prefix's folder when it is missing (one level) and proves that a file can be made in it.
Status prepare_folder(std::string_view prefix);

/// `exists` when something that is not a regular file has the name.
Status check_free(const std::string& path);

/// Makes the file at `path` new: metadata written, size set, values still zero.
Status create_file(const std::string& path, const format::Layout& layout);

/// Gives the whole file its final name; with `sync` after its bytes, and before the name, are on stable
/// storage.
Status finish_file(const std::string& part, const std::string& path, bool sync);

/// Makes a folder's entries durable.
Status sync_folder(const std::string& folder);

/// Removes a file if it is there; what fails stays, since this is called where an error is reported already.
void discard_file(const std::string& path) noexcept;

}  // namespace hakobi::output
