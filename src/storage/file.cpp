#include "storage/file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <limits>
#include <string_view>

#include "storage/faulty.hpp"
#include "storage/memory.hpp"
#include "storage/null.hpp"
#include "storage/posix.hpp"
#include "storage/throttled.hpp"

namespace hakobi::storage {

namespace {

enum class Backend { posix, null, memory, throttled };

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
    if (prefix == "throttled") return {Backend::throttled, std::move(rest)};
    // ROMIO's names of file systems that are all reached by the same calls.
    constexpr std::array<std::string_view, 6> posix_names = {"posix", "ufs", "nfs", "xfs", "lustre", "gpfs"};
    if (std::ranges::find(posix_names, prefix) != posix_names.end()) return {Backend::posix, std::move(rest)};
    return {Backend::posix, path};
}

/// What follows "throttled:", split into the model's text and the file's name.
struct Throttled {
    std::string model;
    std::string path;
};
Throttled split_throttled(const std::string& rest) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    return {rest.substr(0, colon), rest.substr(std::min(colon + 1, rest.size()))};
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
        case Backend::throttled:
            break;
    }
    const Throttled throttled = split_throttled(location.path);
    ServiceModel model;
    if (const std::string problem = parse_service_model(throttled.model, model); !problem.empty()) {
        return Status(ErrorCode::invalid_argument, "cannot open " + path + ": " + problem);
    }
    Result<FilePtr> inner = open_backend(throttled.path, mode);
    if (!inner.ok()) return inner;
    return make_throttled(std::move(inner).value(), model);
}

/// The file's own name and backend, below any decorator.
Location locate_inner(const std::string& path) {
    Location location = locate(path);
    while (location.backend == Backend::throttled) location = locate(split_throttled(location.path).path);
    return location;
}

}  // namespace

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

Status rename_file(const std::string& from, const std::string& to) {
    if (Status status = admit(FileOperation::rename, from); !status.ok()) return status;
    const Location source = locate_inner(from), target = locate_inner(to);
    if (source.backend != target.backend) {
        return {ErrorCode::invalid_argument,
                "cannot rename " + from + " to " + to + ": not the same storage"};
    }
    if (source.backend == Backend::null) return {};
    if (source.backend == Backend::memory) return rename_memory(source.path, target.path);
    if (std::rename(source.path.c_str(), target.path.c_str()) == 0) return {};
    return status_of_errno(errno, "cannot rename " + source.path + " to", target.path);
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
