#include "storage/beneath.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>
#include <string_view>

namespace hakobi::storage {
namespace {

/// Flags for a folder on the way: only its names are followed.
constexpr int passing_flags = O_PATH | O_DIRECTORY | O_CLOEXEC;

Status no_folder(int in, const std::string& name, const std::string& path) {
    struct stat info {};
    const bool is_link =
        ::fstatat(in, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(info.st_mode);
    return {ErrorCode::format, "cannot open " + path + ": " + name + " is a " +
                                   (is_link ? "symbolic link" : "file") + ", not a folder"};
}

}  // namespace

int Reached::from() const noexcept {
    return folder.get() >= 0 ? folder.get() : AT_FDCWD;
}

Result<Reached> reach(const std::string& path, const std::string& root) {
    if (root.empty() || !path.starts_with(root + "/")) return Reached{Descriptor(), path};
    Reached reached{Descriptor(::open(root.c_str(), passing_flags)), {}};
    if (reached.folder.get() < 0) return status_of_errno(errno, "cannot open", path);
    std::string_view rest = std::string_view(path).substr(root.size() + 1);
    for (;;) {
        const std::size_t slash = rest.find('/');
        reached.name = rest.substr(0, slash);
        if (reached.name.empty() || reached.name == "." || reached.name == "..")
            return Status(ErrorCode::format, "cannot open " + path + ": it leads out of " + root);
        if (slash == std::string_view::npos) return reached;
        Descriptor next(::openat(reached.folder.get(), reached.name.c_str(), passing_flags | O_NOFOLLOW));
        if (next.get() < 0) {
            if (errno != ENOTDIR) return status_of_errno(errno, "cannot open", path);
            return no_folder(reached.folder.get(), reached.name, path);
        }
        reached.folder = std::move(next);
        rest.remove_prefix(slash + 1);
    }
}

}  // namespace hakobi::storage
