// What the file system's names allow: commit, remove, list.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "base/descriptor.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {
namespace {

/// Where the file system has no rename that spares what is there, a link does: it fails where the name is taken.
int rename_new(const char* from, const char* to) {
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::link(from, to) == 0) return ::unlink(from) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    struct stat info {};
    if (::lstat(to, &info) == 0) return EEXIST;
    return std::rename(from, to) == 0 ? 0 : errno;
}

std::string parent_folder(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Status sync_posix_folder(const std::string& folder) {
    const Descriptor descriptor(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0) return status_of_errno(errno, "cannot open folder", folder);
    // Some file systems have no fsync of folders and say so by EINVAL: their renames are durable by other
    // means.
    if (::fsync(descriptor.get()) == 0 || errno == EINVAL) return {};
    return status_of_errno(errno, "cannot sync folder", folder);
}

Status commit_posix(const std::string& from, const std::string& to, const CommitMode& mode) {
    int error = 0;
    if (!mode.replaces) {
        error = rename_new(from.c_str(), to.c_str());
    } else if (std::rename(from.c_str(), to.c_str()) != 0) {
        error = errno;
    }
    if (error != 0) return status_of_errno(error, "cannot rename " + from + " to", to);
    return mode.is_durable ? sync_posix_folder(parent_folder(to)) : Status();
}

Status remove_posix(const std::string& path) {
    return ::unlink(path.c_str()) == 0 ? Status() : status_of_errno(errno, "cannot remove", path);
}

Result<std::vector<Listed>> list_posix(const std::string& folder) {
    namespace fs = std::filesystem;
    std::vector<Listed> found;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
        std::error_code unknown;
        const fs::file_status status = entry->symlink_status(unknown);
        found.push_back({entry->path().filename().string(), fs::is_regular_file(status) ? Listed::Kind::file
                                                            : fs::is_directory(status)
                                                                ? Listed::Kind::folder
                                                                : Listed::Kind::other});
    }
    if (error) return status_of_errno(error.value(), "cannot list folder", folder);
    return found;
}

}  // namespace hakobi::storage
