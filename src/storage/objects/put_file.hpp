#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "storage/objects.hpp"
#include "storage/paced_copy.hpp"

namespace hakobi::storage {

/// An object of a server that a path names: "s3://bucket/run.zarr/zarr.json",
/// "rados:pool/run.zarr/zarr.json".
struct ObjectAt {
    ObjectsPtr objects;  ///< of the bucket or pool, whose connections the process keeps
    std::string name;
};
/// invalid_argument for a path that names no object; else as open_objects.
Result<ObjectAt> object_at(const std::string& path);

struct WholeObject {
    std::vector<std::byte> bytes;
    std::string version;
};
/// All of an object as it was at one time; nothing where there is none.
Result<std::optional<WholeObject>> get_object(const ObjectAt& object);

/// Puts a file of `file_bytes` as one object, in parts, some at once, where it is large: the object is there
/// when all of it is. The rest of a killed upload of the same object is given up. format where the file has
/// another size.
Status put_file(const std::string& from, std::int64_t file_bytes, const ObjectAt& to, const PutMode& mode,
                const Pace& pace);
/// The largest file that `put_file` takes.
[[nodiscard]] std::int64_t most_file_bytes(const ObjectAbilities& abilities);

}  // namespace hakobi::storage
