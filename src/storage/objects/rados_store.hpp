#pragma once

#include <string>

#include "storage/objects.hpp"

namespace hakobi::storage {

/// `open_rados_objects` in a namespace of the pool: a listing has that one's objects only.
Result<ObjectsPtr> open_rados_objects_in(const std::string& root, const std::string& name_space);

}  // namespace hakobi::storage
