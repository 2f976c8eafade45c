#pragma once

#include <string>
#include <vector>

#include "storage/file.hpp"
#include "storage/objects.hpp"

namespace hakobi::storage {

/// Files on a pool of Ceph, "POOL/NAME": striped over objects (striped_file.hpp), whose bytes are in the
/// pool's namespace "hakobi.data". Objects that were put whole are read as files, too.
Result<FilePtr> open_rados(const std::string& path, const OpenMode& mode);
Status commit_rados(const std::string& from, const std::string& to, const CommitMode& mode);
Status remove_rados(const std::string& path);
Result<std::vector<Listed>> list_rados(const std::string& folder);

/// Objects of S3 read as files, "//BUCKET/KEY", by ranges of the version that was opened. They are not
/// written so: S3 has no ranges that could be, `unsupported` says what writes there.
Result<FilePtr> open_s3(const std::string& path, const OpenMode& mode);
Status commit_s3(const std::string& from, const std::string& to, const CommitMode& mode);
Status remove_s3(const std::string& path);
Result<std::vector<Listed>> list_s3(const std::string& folder);
/// Has a bucket, "//BUCKET", be these objects in place of a server's: for tests.
void set_bucket(const std::string& bucket, ObjectsPtr objects);

}  // namespace hakobi::storage
