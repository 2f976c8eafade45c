#include "storage/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "storage/faulty.hpp"
#include "storage/memory.hpp"
#include "storage/null.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {

namespace {

enum class Backend { posix, null, memory, decorated };

struct Location {
    Backend backend = Backend::posix;
    std::string path;          ///< without the prefix
    Decorator decorator = {};  ///< of a decorated one
    std::string decorator_text = {};
};

struct Decorators {
    std::mutex mutex;
    std::vector<Decorator> all;
};
Decorators& decorators() {
    static Decorators registered;
    return registered;
}

std::optional<Decorator> find_decorator(std::string_view name) {
    std::scoped_lock lock(decorators().mutex);
    const auto found = std::ranges::find(decorators().all, name, &Decorator::name);
    return found == decorators().all.end() ? std::nullopt : std::optional(*found);
}

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
    if (const std::optional<Decorator> decorator = find_decorator(prefix)) {
        const std::size_t end = std::min(rest.find(':'), rest.size());
        return {Backend::decorated, rest.substr(std::min(end + 1, rest.size())), *decorator,
                rest.substr(0, end)};
    }
    return {Backend::posix, path};
}

Result<FilePtr> open_backend(const std::string& path, const OpenMode& mode) {
    const Location location = locate(path);
    switch (location.backend) {
        case Backend::null:
            return open_null(location.path);
        case Backend::memory:
            return open_memory(location.path, mode);
        case Backend::posix:
            return open_posix(location.path, mode);
        case Backend::decorated:
            break;
    }
    auto decorate = location.decorator.read(location.decorator_text);
    if (!decorate.ok())
        return Status(decorate.status().code(), "cannot open " + path + ": " + decorate.status().text());
    Result<FilePtr> inner = open_backend(location.path, mode);
    if (!inner.ok()) return inner;
    return decorate.value()(std::move(inner).value());
}

/// The file's own name and backend, below any decorator.
Location locate_inner(const std::string& path) {
    Location location = locate(path);
    while (location.backend == Backend::decorated) location = locate(location.path);
    return location;
}

}  // namespace

void add_decorator(const Decorator& decorator) {
    std::scoped_lock lock(decorators().mutex);
    decorators().all.push_back(decorator);
}

Result<FilePtr> open_file(const std::string& path, const OpenMode& mode) {
    if (Status status = admit(FileOperation::open, path); !status.ok()) return status;
    if (!mode.read && !mode.write)
        return Status(ErrorCode::invalid_argument,
                      "cannot open " + path + ": neither for reading nor for writing");
    Result<FilePtr> file = open_backend(path, mode);
    if (!file.ok()) return file;
    return with_faults(std::move(file).value());
}

Status remove_file(const std::string& path) {
    if (Status status = admit(FileOperation::remove, path); !status.ok()) return status;
    const Location location = locate_inner(path);
    if (location.backend == Backend::null) return {};
    if (location.backend == Backend::memory) return remove_memory(location.path);
    return ::unlink(location.path.c_str()) == 0 ? Status()
                                                : status_of_errno(errno, "cannot remove", location.path);
}

namespace {

/// Where the file system has no rename that spares what is there, a link does: it fails where the name is taken.
int rename_posix_new(const char* from, const char* to) {
    if (::renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) return 0;
    if (errno != EINVAL && errno != ENOSYS) return errno;
    if (::link(from, to) == 0) return ::unlink(from) == 0 ? 0 : errno;
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS) return errno;
    struct stat info {};
    if (::lstat(to, &info) == 0) return EEXIST;
    return std::rename(from, to) == 0 ? 0 : errno;
}

Status rename_with(const std::string& from, const std::string& to, bool is_replacing) {
    if (Status status = admit(FileOperation::rename, from); !status.ok()) return status;
    const Location source = locate_inner(from), target = locate_inner(to);
    if (source.backend != target.backend) {
        return {ErrorCode::invalid_argument,
                "cannot rename " + from + " to " + to + ": not the same storage"};
    }
    if (source.backend == Backend::null) return {};
    if (source.backend == Backend::memory) {
        if (!is_replacing && open_memory(target.path, {}).ok())
            return status_of_errno(EEXIST, "cannot rename " + source.path + " to", target.path);
        return rename_memory(source.path, target.path);
    }
    int error = 0;
    if (!is_replacing) {
        error = rename_posix_new(source.path.c_str(), target.path.c_str());
    } else if (std::rename(source.path.c_str(), target.path.c_str()) != 0) {
        error = errno;
    }
    return error == 0 ? Status()
                      : status_of_errno(error, "cannot rename " + source.path + " to", target.path);
}

}  // namespace

Status rename_file(const std::string& from, const std::string& to) {
    return rename_with(from, to, true);
}

Status rename_new_file(const std::string& from, const std::string& to) {
    return rename_with(from, to, false);
}

std::string system_path(const std::string& path) {
    Location location = locate_inner(path);
    return location.backend == Backend::posix ? std::move(location.path) : std::string();
}

Status File::lock_range(std::int64_t /*offset*/, std::int64_t /*length*/) {
    return {ErrorCode::unsupported, path() + ": this storage has no locks"};
}

Status File::unlock_range(std::int64_t /*offset*/, std::int64_t /*length*/) {
    return {ErrorCode::unsupported, path() + ": this storage has no locks"};
}

Status check_range(std::int64_t offset, std::size_t length, std::string_view what, std::string_view path) {
    if (offset < 0) {
        std::string text(what);
        text.append(" ").append(path).append(": a negative offset or size");
        return {ErrorCode::invalid_argument, std::move(text)};
    }
    const auto room = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max() - offset);
    return length > room ? status_of_errno(EFBIG, what, path) : Status();
}

}  // namespace hakobi::storage
