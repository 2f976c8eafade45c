#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "storage/objects/put_file.hpp"

namespace hakobi::format::zarr {

// What a group's writer and readers do to storage: all of it, with files of a file system and with objects of a server, which a path
// names with its scheme. All local.

/// The folder and those above it; objects need none.
Status make_folder(const std::string& folder);
/// Replaces the file or object at once; with `sync` it is on stable storage first, as an object always is.
Status put(const std::string& path, std::span<const std::byte> bytes, bool sync);
/// The same of an object that must still have this version, and gets another: `exists` where it has not. A file is only put.
Status replace(const std::string& path, std::span<const std::byte> bytes, std::string& version, bool sync);
/// All of it, and an object's version; nothing where there is none.
Result<std::optional<storage::WholeObject>> get(const std::string& path);
/// Gives a whole file its place, where it replaces what is there. Nothing is done where `from` is not there and `to` is.
Status place(const std::string& from, const std::string& to, bool sync);
/// The same by a copy, which `from` outlives: `to` is on other storage.
Status place_copy(const std::string& from, std::int64_t file_bytes, const std::string& to, bool sync,
                  const storage::Pace& pace);
/// Of an object.
Result<std::string> version_of(const std::string& path);
[[nodiscard]] bool is_there(const std::string& path);
/// How many files are placed at once.
[[nodiscard]] int num_at_once(const std::string& store);

/// The names directly in a folder.
Result<std::vector<std::string>> names_in(const std::string& folder);
/// What is not there has been removed.
Status remove(const std::string& path);
/// Removes a folder with nothing in it; one that others have put something into stays.
Status remove_folder(const std::string& folder);

}  // namespace hakobi::format::zarr
