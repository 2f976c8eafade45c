#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "storage/objects/put_file.hpp"

namespace hakobi::format::zarr {

// What a group's writer and readers do to storage: all of it, with files of a file system and with objects of a server, which the
// store's path names with its scheme. `inside` is a name in the store: "zarr.json", "eta/c.12.0.0". Nothing outside of the store is
// reached by one, by links either (storage/beneath.hpp; objects have none, and whoever gives names has checked them). All local.

/// "STORE/eta/zarr.json": what messages call it.
[[nodiscard]] std::string path_in(const std::string& store, std::string_view inside);

/// The store's own folder and those above it; objects need none. With `sync` its name is on stable storage.
Status make_store(const std::string& store, bool sync);
/// A folder in the store, which is there; there already is fine. With `sync` as above.
Status make_folder(const std::string& store, const std::string& inside, bool sync);
/// Replaces the file or object at once; with `sync` it is on stable storage first, as an object always is.
Status put(const std::string& store, const std::string& inside, std::span<const std::byte> bytes, bool sync);
/// The same of an object that must still have this version, and gets another: `exists` where it has not. A file is only put.
Status replace(const std::string& store, const std::string& inside, std::span<const std::byte> bytes,
               std::string& version, bool sync);
/// All of it, and an object's version; nothing where there is none.
Result<std::optional<storage::WholeObject>> get(const std::string& store, const std::string& inside);
/// Gives a whole file its place, where it replaces what is there. Nothing is done where `from` is not there and `inside` is.
Status place(const std::string& from, const std::string& store, const std::string& inside, bool sync);
/// The same by a copy, which `from` outlives: the store is on other storage.
Status place_copy(const std::string& from, std::int64_t file_bytes, const std::string& store,
                  const std::string& inside, bool sync, const storage::Pace& pace);
/// Of an object.
Result<std::string> version_of(const std::string& store, const std::string& inside);
/// The size of a file or object in bytes; nothing where there is none. format for what is no file.
Result<std::optional<std::int64_t>> size_of(const std::string& store, const std::string& inside);
/// How many files are placed at once.
[[nodiscard]] int num_at_once(const std::string& store);

/// The names directly in a folder.
Result<std::vector<std::string>> names_in(const std::string& store, const std::string& inside);
/// What is not there has been removed.
Status remove(const std::string& store, const std::string& inside);
/// Removes a folder with nothing in it, "" for the store itself; one that others have put something into stays.
Status remove_folder(const std::string& store, const std::string& inside);

}  // namespace hakobi::format::zarr
