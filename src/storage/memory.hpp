#pragma once

#include <string>
#include <vector>

#include "storage/file.hpp"

namespace hakobi::storage {

/// Files in this process's memory, found by name: what one open wrote another reads, until removed. For tests
/// and for programs that read their own output back. Sparse: only what was written takes memory (in pages of
/// 64 KiB).
Result<FilePtr> open_memory(const std::string& path, const OpenMode& mode);
/// Like unlink and rename: who has the file open keeps it.
Status remove_memory(const std::string& path);
Status commit_memory(const std::string& from, const std::string& to, const CommitMode& mode);
/// Folders are the parts of names before a slash.
Result<std::vector<Listed>> list_memory(const std::string& folder);

}  // namespace hakobi::storage
