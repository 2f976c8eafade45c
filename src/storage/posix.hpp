#pragma once

#include <string>
#include <vector>

#include "storage/file.hpp"

namespace hakobi::storage {

/// Opens a file of the file system. With mode.direct a second descriptor with O_DIRECT serves what is
/// aligned; where the file system refuses O_DIRECT everything is buffered.
Result<FilePtr> open_posix(const std::string& path, const OpenMode& mode);
Status commit_posix(const std::string& from, const std::string& to, const CommitMode& mode);
/// `root`: as OpenMode's.
Status remove_posix(const std::string& path, const std::string& root = {});
Result<std::vector<Listed>> list_posix(const std::string& folder, const std::string& root = {});
/// Makes a folder's entries durable.
Status sync_posix_folder(const std::string& folder);

}  // namespace hakobi::storage
