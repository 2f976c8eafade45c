#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "storage/file.hpp"
#include "storage/objects.hpp"

// A writer's data on object storage (O1 of format.hpp).

namespace hakobi::store {

inline constexpr std::string_view data_folder = "data/";
[[nodiscard]] std::string segments_folder(std::string_view stem);
/// The name of the object that has byte `offset_bytes`.
[[nodiscard]] std::string segment_name(std::string_view stem, std::int64_t offset_bytes);

/// A file to which every write is an object, at the offset where one begins.
[[nodiscard]] storage::FilePtr segments_to_write(storage::ObjectsPtr objects, const std::string& stem);
/// One object.
[[nodiscard]] storage::FilePtr segment_to_read(storage::ObjectsPtr objects, const std::string& name);

}  // namespace hakobi::store
