#pragma once

#include <string>
#include <vector>

#include "storage/file.hpp"

namespace hakobi::storage {

/// A file that discards what is written and reads as zeros at every offset: the floor of a measurement, and a
/// method without its storage. Opening never fails; the size is what this object was told, not shared with
/// other opens.
FilePtr make_null(const std::string& path);
Result<FilePtr> open_null(const std::string& path, const OpenMode& mode);
Status commit_null(const std::string& from, const std::string& to, const CommitMode& mode);
Status remove_null(const std::string& path);
Result<std::vector<Listed>> list_null(const std::string& folder);

}  // namespace hakobi::storage
