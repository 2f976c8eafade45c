#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

// The store's operations on single files of a file system.

namespace hakobi::store {

/// A name beside `path` that nobody else has; what is left over under one was a killed process's.
[[nodiscard]] std::string temporary_path(const std::string& path);
/// Removes a file; that it is gone already is no error.
Status remove_if_there(const std::string& path);
/// Syncs a folder: what was made, renamed or removed in it stays so.
void sync_folder(const std::string& path);
/// 0 where there is none.
std::int64_t file_size(const std::string& path);

}  // namespace hakobi::store
