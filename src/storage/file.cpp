#include "storage/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cerrno>
#include <limits>
#include <string_view>

#include "storage/backend.hpp"
#include "storage/faulty.hpp"
#include "storage/layout_wish.hpp"
#include "storage/posix.hpp"

namespace hakobi::storage {

Result<FilePtr> open_file(const std::string& path, const OpenMode& mode) {
    const Location location = locate(path);
    if (location.backend->is_of_files) return location.backend->open(location.path, mode);
    if (Status status = admit(FileOperation::open, path); !status.ok()) return status;
    if (!mode.read && !mode.write)
        return Status(ErrorCode::invalid_argument,
                      "cannot open " + path + ": neither for reading nor for writing");
    std::vector<std::function<FilePtr(FilePtr)>> decorate;
    for (const auto& [decorator, text] : location.decorations) {
        auto read = decorator.read(text);
        if (!read.ok())
            return Status(read.status().code(), "cannot open " + path + ": " + read.status().text());
        decorate.push_back(std::move(read).value());
    }
    Result<FilePtr> opened = location.backend->open(location.path, mode);
    if (!opened.ok()) return opened;
    FilePtr file = std::move(opened).value();
    for (auto each = decorate.rbegin(); each != decorate.rend(); ++each) file = (*each)(std::move(file));
    assert(file != nullptr);
    return with_faults(std::move(file));
}

Result<std::vector<std::byte>> read_whole(const std::string& path, const OpenMode& mode,
                                          std::int64_t most_bytes) {
    assert(most_bytes >= 0);
    Result<FilePtr> file = open_file(path, mode);
    if (!file.ok()) return file.status();
    const Result<std::int64_t> size = file.value()->size_bytes();
    if (!size.ok()) return size.status();
    std::vector<std::byte> bytes(static_cast<std::size_t>(std::min(size.value(), most_bytes)));
    const Result<std::int64_t> read = file.value()->read_at(bytes, 0);
    if (!read.ok()) return read.status();
    bytes.resize(static_cast<std::size_t>(read.value()));
    return bytes;
}

namespace {

Status remove_at(const Location& location, const std::string& root) {
    return location.backend->has_system_paths ? remove_posix(location.path, root)
                                              : location.backend->remove(location.path);
}

}  // namespace

Status remove_file(const std::string& path, const std::string& root) {
    if (Status status = admit(FileOperation::remove, path); !status.ok()) return status;
    return remove_at(locate(path), root);
}

void discard_file(const std::string& path, const std::string& root) noexcept {
    (void)remove_at(locate(path), root);
}

Status commit_file(const std::string& from, const std::string& to, const CommitMode& mode) {
    if (Status status = admit(FileOperation::rename, from); !status.ok()) return status;
    const Location source = locate(from), target = locate(to);
    if (source.backend != target.backend) {
        return {ErrorCode::invalid_argument,
                "cannot rename " + from + " to " + to + ": not the same storage"};
    }
    return source.backend->commit(source.path, target.path, mode);
}

Status rename_file(const std::string& from, const std::string& to) {
    return commit_file(from, to, {.replaces = true});
}

Result<std::vector<Listed>> list_folder(const std::string& folder, const std::string& root) {
    const Location location = locate(folder);
    return location.backend->has_system_paths ? list_posix(location.path, root)
                                              : location.backend->list(location.path);
}

LayoutFacts layout_facts(const std::string& path) {
    const Location location = locate(path);
    const Layouts* const layouts = location.backend->layouts;
    return layouts != nullptr ? layouts->facts(location.path) : LayoutFacts();
}

LaidOut make_laid_out(const std::string& path, const LayoutWish& wish) {
    const Location location = locate(path);
    if (location.backend->layouts != nullptr) return location.backend->layouts->make(location.path, wish);
    LaidOut none;
    none.refused = {ErrorCode::unsupported, path + ": this storage has no layouts to choose"};
    return none;
}

namespace {

FileFacts look_at(const std::string& path, bool follows_links) {
    const std::string name = system_path(path);
    struct stat info {};
    if (name.empty() ||
        ::fstatat(AT_FDCWD, name.c_str(), &info, follows_links ? 0 : AT_SYMLINK_NOFOLLOW) != 0)
        return {};
    FileFacts facts{.kind = FileFacts::Kind::other,
                    .size_bytes = info.st_size,
                    .num_names = static_cast<std::int64_t>(info.st_nlink)};
    if (S_ISREG(info.st_mode)) facts.kind = FileFacts::Kind::file;
    if (S_ISDIR(info.st_mode)) facts.kind = FileFacts::Kind::folder;
    if (S_ISLNK(info.st_mode)) facts.kind = FileFacts::Kind::link;
    return facts;
}

}  // namespace

FileFacts facts_of(const std::string& path) {
    return look_at(path, false);
}

FileFacts facts_behind(const std::string& path) {
    return look_at(path, true);
}

std::optional<FileVersion> file_version_of(const std::string& path) {
    struct stat info {};
    const std::string name = system_path(path);
    if (name.empty() || ::stat(name.c_str(), &info) != 0) return std::nullopt;
    const auto ns = [](const timespec& time) {
        return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
    };
    return FileVersion{static_cast<std::int64_t>(info.st_dev), static_cast<std::int64_t>(info.st_ino),
                       info.st_size, ns(info.st_mtim), ns(info.st_ctim)};
}

std::string system_path(const std::string& path) {
    Location location = locate(path);
    return location.backend->has_system_paths ? std::move(location.path) : std::string();
}

std::string name_for_people(const std::string& path) {
    std::string name = system_path(path);
    return name.empty() ? path : name;
}

std::string lasting_path(const std::string& path) {
    Location location = locate(path);
    if (location.backend->has_system_paths) return std::move(location.path);
    if (!location.backend->keeps_names) return "";
    return std::string(location.backend->schemes.front()) + ":" + location.path;
}

const Abilities& File::abilities() const noexcept {
    static constexpr Abilities defaults;
    return defaults;
}

const Layout& File::layout() const noexcept {
    static const Layout none;
    return none;
}

StorageProfile& File::profile() {
    std::call_once(profile_found_, [this] {
        struct stat info {};
        const bool has_device = descriptor() >= 0 && ::fstat(descriptor(), &info) == 0;
        profile_ = StorageProfile::of_device(has_device ? info.st_dev : 0);
    });
    return *profile_;
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
