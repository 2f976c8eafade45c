#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace hakobi::format::zarr {

// What a group's writer and readers do to files: all of it, so that another storage has one place to stand. All local.

/// The folder and those above it.
Status make_folder(const std::string& folder);
/// Replaces the file at once; with `sync` it is on stable storage first.
Status put(const std::string& path, std::span<const std::byte> bytes, bool sync);
/// All of a file; nothing where there is none.
Result<std::optional<std::vector<std::byte>>> get(const std::string& path);
/// Gives a whole file its place, where it replaces what is there. Nothing is done where `from` is not there and `to` is.
Status place(const std::string& from, const std::string& to, bool sync);
[[nodiscard]] bool is_there(const std::string& path);
/// Removes a folder with nothing in it; one that others have put something into stays.
Status remove_folder(const std::string& folder);

}  // namespace hakobi::format::zarr
