#pragma once

#include <string>
#include <vector>

#include "storage/file.hpp"
#include "storage/objects.hpp"

namespace hakobi::storage {

// A file whose ranges are written in place, by any number of processes, on objects that can be changed.
//
//  1. A file's name is an object of `heads`, 70 bytes or so: the file's id, 128 random bits, and the size of
//     its data objects. It is never changed.
//  2. Its bytes are the objects ID.0, ID.1, … of `data`, each `object_bytes` long but where it ends early;
//     what is missing reads as zeros. Nobody makes them beforehand.
//  3. The object ID of `data` has the file's size as its number, raised by each write that ends behind it,
//     and as its content the name that owns the bytes.
//  4. A file gets its final name in this order: the name becomes the owner; a head is put under it (only
//     where there is none, unless it replaces); the head under the old name is removed; what was replaced
//     loses its data. A kill in between leaves two names of one file: removing the one that is not the
//     owner's spares the bytes.
//  5. A file is removed head first: a kill in between leaves objects that nobody finds, and costs room only.

/// The stores of one place: names and bytes apart, so that a listing of names passes no data.
struct StripedPlace {
    ObjectsPtr heads, data;
    std::string file_system;  ///< for people; one of few
};

inline constexpr std::int64_t stripe_object_bytes = std::int64_t{4}
                                                    << 20;  // Ceph's own choice for files and disks

Result<FilePtr> open_striped(const StripedPlace& place, const std::string& name, const OpenMode& mode);
Status commit_striped(const StripedPlace& place, const std::string& from, const std::string& to,
                      const CommitMode& mode);
Status remove_striped(const StripedPlace& place, const std::string& name);
/// Lists the names directly below "a/b" (or "": the root), where an object store has folders by name only.
Result<std::vector<Listed>> list_names(Objects& objects, const std::string& folder);

}  // namespace hakobi::storage
