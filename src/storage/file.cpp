#include "storage/file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>

#include "storage/memory.hpp"
#include "storage/null.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {

namespace {

enum class Backend { posix, null, memory };

struct Location {
    Backend backend = Backend::posix;
    std::string path;  ///< without the prefix
};

/// A word before the first colon that names no backend is part of the file's name.
Location locate(const std::string& path) {
    const std::size_t colon = path.find(':');
    if (colon == std::string::npos) return {Backend::posix, path};
    const std::string_view prefix = std::string_view(path).substr(0, colon);
    std::string rest = path.substr(colon + 1);
    if (prefix == "null") return {Backend::null, std::move(rest)};
    if (prefix == "memory") return {Backend::memory, std::move(rest)};
    // ROMIO's names of file systems that are all reached by the same calls.
    constexpr std::array<std::string_view, 6> posix_names = {"posix", "ufs", "nfs", "xfs", "lustre", "gpfs"};
    if (std::ranges::find(posix_names, prefix) != posix_names.end()) return {Backend::posix, std::move(rest)};
    return {Backend::posix, path};
}

}  // namespace

Result<FilePtr> open_file(const std::string& path, const OpenMode& mode) {
    const Location location = locate(path);
    switch (location.backend) {
        case Backend::null: return open_null(location.path);
        case Backend::memory: return open_memory(location.path, mode);
        case Backend::posix: break;
    }
    return open_posix(location.path, mode);
}

Status remove_file(const std::string& path) {
    const Location location = locate(path);
    switch (location.backend) {
        case Backend::null: return {};
        case Backend::memory: return remove_memory(location.path);
        case Backend::posix: break;
    }
    return ::unlink(location.path.c_str()) == 0 ? Status() : status_of_errno(errno, "cannot remove", location.path);
}

}  // namespace hakobi::storage
