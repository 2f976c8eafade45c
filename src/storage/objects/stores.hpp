#pragma once

// The stores that open_objects knows. Each takes what its root has behind the scheme.
#include <string>

#include "storage/objects.hpp"

namespace hakobi::storage {

/// Objects in this process's memory, found by the root's name as long as the process lives.
Result<ObjectsPtr> open_memory_objects(const std::string& root);
/// Files below a folder: names have the parts that a path has. An object is written under another name, then
/// linked or renamed to its own: whoever opens it finds it whole.
Result<ObjectsPtr> open_folder_objects(const std::string& root);
/// "//bucket/prefix", as S3Settings finds it (s3_settings.hpp).
Result<ObjectsPtr> open_s3_objects(const std::string& root);
/// "pool/prefix", as CEPH_CONF or /etc/ceph/ceph.conf says.
Result<ObjectsPtr> open_rados_objects(const std::string& root);

/// The error of Objects::replace where it finds another version.
Status replaced_before(const std::string& place);

}  // namespace hakobi::storage
