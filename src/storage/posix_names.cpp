// Operations on the file system's names: commit, remove, list.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/descriptor.hpp"
#include "storage/beneath.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {
namespace {

/// Where the file system has no rename that spares what is there, a link does: it fails where the name is
/// taken.
int rename_new(const Reached& from, const Reached& to) {
    const char *const old_name = from.name.c_str(), *const new_name = to.name.c_str();
    if (::renameat2(from.from(), old_name, to.from(), new_name, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::linkat(from.from(), old_name, to.from(), new_name, 0) == 0)
        return ::unlinkat(from.from(), old_name, 0) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    struct stat info {};
    if (::fstatat(to.from(), new_name, &info, AT_SYMLINK_NOFOLLOW) == 0) return EEXIST;
    return ::renameat(from.from(), old_name, to.from(), new_name) == 0 ? 0 : errno;
}

std::string parent_folder(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

/// `folder` is what messages call it.
Status sync_folder_from(int from, const char* name, const std::string& folder) {
    const Descriptor descriptor(::openat(from, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0) return status_of_errno(errno, "cannot open folder", folder);
    // Some file systems have no fsync of folders and say so by EINVAL: their renames are durable by other
    // means.
    if (::fsync(descriptor.get()) == 0 || errno == EINVAL) return {};
    return status_of_errno(errno, "cannot sync folder", folder);
}

/// Not every file system says it with the name.
Listed::Kind kind_of_entry(int folder, const dirent& entry) {
    struct stat info {};
    unsigned char type = entry.d_type;
    if (type == DT_UNKNOWN && ::fstatat(folder, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) == 0)
        type = static_cast<unsigned char>(IFTODT(info.st_mode));
    return type == DT_REG ? Listed::Kind::file : type == DT_DIR ? Listed::Kind::folder : Listed::Kind::other;
}

}  // namespace

Status sync_posix_folder(const std::string& folder) {
    return sync_folder_from(AT_FDCWD, folder.c_str(), folder);
}

Status commit_posix(const std::string& from, const std::string& to, const CommitMode& mode) {
    const Result<Reached> source = reach(from, mode.root), target = reach(to, mode.root);
    if (!source.ok()) return source.status();
    if (!target.ok()) return target.status();
    const Reached &old_place = source.value(), &new_place = target.value();
    int error = 0;
    if (!mode.replaces) {
        error = rename_new(old_place, new_place);
    } else if (::renameat(old_place.from(), old_place.name.c_str(), new_place.from(),
                          new_place.name.c_str()) != 0) {
        error = errno;
    }
    if (error != 0) return status_of_errno(error, "cannot rename " + from + " to", to);
    if (!mode.is_durable) return {};
    if (new_place.folder.get() < 0) return sync_posix_folder(parent_folder(to));
    return sync_folder_from(new_place.folder.get(), ".", parent_folder(to));
}

Status remove_posix(const std::string& path, const std::string& root) {
    const Result<Reached> reached = reach(path, root);
    if (!reached.ok()) return reached.status();
    return ::unlinkat(reached.value().from(), reached.value().name.c_str(), 0) == 0
               ? Status()
               : status_of_errno(errno, "cannot remove", path);
}

Result<std::vector<Listed>> list_posix(const std::string& folder, const std::string& root) {
    const Result<Reached> reached = reach(folder, root);
    if (!reached.ok()) return reached.status();
    const int link_flags = reached.value().folder.get() >= 0 ? O_NOFOLLOW : 0;
    const int opened = ::openat(reached.value().from(), reached.value().name.c_str(),
                                O_RDONLY | O_DIRECTORY | O_CLOEXEC | link_flags);
    if (opened < 0 && errno == ENOTDIR && link_flags != 0)
        return Status(ErrorCode::format, "cannot list " + folder + ": it is a link or a file, not a folder");
    if (opened < 0) return status_of_errno(errno, "cannot list folder", folder);
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(opened), ::closedir);
    std::vector<Listed> found;
    for (;;) {
        errno = 0;
        const dirent* const entry =
            ::readdir(entries.get());  // NOLINT(concurrency-mt-unsafe): its own stream
        if (entry == nullptr) break;
        const std::string_view name = entry->d_name;
        if (name != "." && name != "..") found.push_back({std::string(name), kind_of_entry(opened, *entry)});
    }
    if (errno != 0) return status_of_errno(errno, "cannot list folder", folder);
    return found;
}

}  // namespace hakobi::storage
