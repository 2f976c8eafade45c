#include "system_calls.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

namespace hakobi::test {
namespace {

/// Bytes of a file as they were before a write that no sync has followed.
struct Overwritten {
    std::int64_t offset = 0;
    std::vector<char> bytes;
};

struct Failing {
    std::atomic<SystemCall> call{SystemCall::none};
    std::int64_t nth = 0, num_calls = 0;
    bool has_failed = false;
    std::string folder;
    std::map<std::pair<dev_t, ino_t>, std::vector<Overwritten>> unsynced;
    std::recursive_mutex mutex;
};
Failing& failing() {
    static auto* const made = new Failing;
    return *made;
}

bool is_below(const std::string& path) {
    return path.starts_with(failing().folder + "/");
}

std::string absolute(const char* path) {
    if (path == nullptr || path[0] == '/') return path == nullptr ? "" : path;
    std::array<char, PATH_MAX> folder{};
    return ::getcwd(folder.data(), folder.size()) == nullptr ? "" : std::string(folder.data()) + "/" + path;
}

std::string path_of(int descriptor) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

bool is_due(SystemCall call, const std::string& path) {
    Failing& state = failing();
    const std::scoped_lock lock(state.mutex);
    if (state.call.load() != call || !is_below(path) || ++state.num_calls != state.nth) return false;
    state.has_failed = true;
    return true;
}

bool tracks_writes() {
    const SystemCall call = failing().call.load(std::memory_order_relaxed);
    return call == SystemCall::fsync || call == SystemCall::fdatasync || call == SystemCall::close;
}

std::pair<dev_t, ino_t> file_of(int descriptor) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return {};
    return {info.st_dev, info.st_ino};
}

void note_write(int descriptor, std::size_t length, std::int64_t offset) {
    Failing& state = failing();
    const std::scoped_lock lock(state.mutex);
    const std::string path = path_of(descriptor);
    if (!is_below(path)) return;
    Overwritten old{offset, std::vector<char>(length, '\0')};
    // The descriptor may be for writing alone.
    const int reader = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC));
    if (reader >= 0) (void)!::pread(reader, old.bytes.data(), length, offset);
    if (reader >= 0) ::syscall(SYS_close, reader);
    state.unsynced[file_of(descriptor)].push_back(std::move(old));
}

void note_stored(int descriptor) {
    const std::scoped_lock lock(failing().mutex);
    failing().unsynced.erase(file_of(descriptor));
}

void lose_writes(int descriptor) {
    Failing& state = failing();
    const std::scoped_lock lock(state.mutex);
    const auto found = state.unsynced.find(file_of(descriptor));
    if (found == state.unsynced.end()) return;
    const int writer =
        static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path_of(descriptor).c_str(), O_WRONLY | O_CLOEXEC));
    for (auto old = found->second.rbegin(); writer >= 0 && old != found->second.rend(); ++old)
        (void)!::syscall(SYS_pwrite64, writer, old->bytes.data(), old->bytes.size(), old->offset);
    if (writer >= 0) ::syscall(SYS_close, writer);
    state.unsynced.erase(found);
}

int refuse() {
    errno = EDQUOT;
    return -1;
}

int sync_of(SystemCall call, long number, int descriptor) {
    if (failing().call.load(std::memory_order_relaxed) == call && is_due(call, path_of(descriptor))) {
        lose_writes(descriptor);
        return refuse();
    }
    const int result = static_cast<int>(::syscall(number, descriptor));
    if (result == 0 && tracks_writes()) note_stored(descriptor);
    return result;
}

int rename_of(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    if (failing().call.load(std::memory_order_relaxed) == SystemCall::rename &&
        is_due(SystemCall::rename, absolute(from)))
        return refuse();
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int unlink_of(int folder, const char* path, int flags) {
    if (failing().call.load(std::memory_order_relaxed) == SystemCall::unlink) {
        const std::string whole =
            folder == AT_FDCWD || path[0] == '/' ? absolute(path) : path_of(folder) + "/" + path;
        if (is_due(SystemCall::unlink, whole)) return refuse();
    }
    return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

}  // namespace

std::string_view name_of(SystemCall call) {
    switch (call) {
        case SystemCall::none:
            return "none";
        case SystemCall::fsync:
            return "fsync";
        case SystemCall::fdatasync:
            return "fdatasync";
        case SystemCall::close:
            return "close";
        case SystemCall::rename:
            return "rename";
        case SystemCall::truncate:
            return "truncate";
        case SystemCall::unlink:
            return "unlink";
        case SystemCall::mkdir:
            return "mkdir";
    }
    return "";
}

void fail_call(SystemCall call, std::int64_t nth, const std::string& folder) {
    Failing& state = failing();
    const std::scoped_lock lock(state.mutex);
    state.nth = nth;
    state.num_calls = 0;
    state.has_failed = false;
    state.folder = folder;
    state.unsynced.clear();
    state.call.store(call);
}

bool end_failing() {
    const std::scoped_lock lock(failing().mutex);
    failing().call.store(SystemCall::none);
    return failing().has_failed;
}

}  // namespace hakobi::test

// The program's own, before libc's.
#define HAKOBI_IN_FRONT extern "C" __attribute__((visibility("default")))

HAKOBI_IN_FRONT int fsync(int descriptor) {
    using namespace hakobi::test;
    return sync_of(SystemCall::fsync, SYS_fsync, descriptor);
}
HAKOBI_IN_FRONT int fdatasync(int descriptor) {
    using namespace hakobi::test;
    return sync_of(SystemCall::fdatasync, SYS_fdatasync, descriptor);
}
HAKOBI_IN_FRONT int close(int descriptor) {
    using namespace hakobi::test;
    if (failing().call.load(std::memory_order_relaxed) == SystemCall::close) {
        if (is_due(SystemCall::close, path_of(descriptor))) {
            lose_writes(descriptor);
            ::syscall(SYS_close, descriptor);
            return refuse();
        }
        const int mode = ::fcntl(descriptor, F_GETFL);
        if (mode >= 0 && (mode & O_ACCMODE) != O_RDONLY) note_stored(descriptor);
    }
    return static_cast<int>(::syscall(SYS_close, descriptor));
}
HAKOBI_IN_FRONT int rename(const char* from, const char* to) noexcept {
    return hakobi::test::rename_of(AT_FDCWD, from, AT_FDCWD, to, 0);
}
HAKOBI_IN_FRONT int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return hakobi::test::rename_of(from_folder, from, to_folder, to, 0);
}
HAKOBI_IN_FRONT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                              unsigned flags) noexcept {
    return hakobi::test::rename_of(from_folder, from, to_folder, to, flags);
}
HAKOBI_IN_FRONT int ftruncate(int descriptor, off_t bytes) noexcept {
    using namespace hakobi::test;
    if (failing().call.load(std::memory_order_relaxed) == SystemCall::truncate &&
        is_due(SystemCall::truncate, path_of(descriptor)))
        return refuse();
    return static_cast<int>(::syscall(SYS_ftruncate, descriptor, bytes));
}
HAKOBI_IN_FRONT __attribute__((alias("ftruncate"), nothrow)) int ftruncate64(int, off_t);
HAKOBI_IN_FRONT int unlink(const char* path) noexcept {
    return hakobi::test::unlink_of(AT_FDCWD, path, 0);
}
HAKOBI_IN_FRONT int unlinkat(int folder, const char* path, int flags) noexcept {
    return hakobi::test::unlink_of(folder, path, flags);
}
HAKOBI_IN_FRONT int rmdir(const char* path) noexcept {
    return hakobi::test::unlink_of(AT_FDCWD, path, AT_REMOVEDIR);
}
HAKOBI_IN_FRONT int mkdir(const char* path, mode_t mode) noexcept {
    using namespace hakobi::test;
    if (failing().call.load(std::memory_order_relaxed) == SystemCall::mkdir &&
        is_due(SystemCall::mkdir, absolute(path)))
        return refuse();
    return static_cast<int>(::syscall(SYS_mkdirat, AT_FDCWD, path, mode));
}
HAKOBI_IN_FRONT ssize_t pwrite(int descriptor, const void* bytes, size_t length, off_t offset) {
    if (hakobi::test::tracks_writes()) hakobi::test::note_write(descriptor, length, offset);
    return ::syscall(SYS_pwrite64, descriptor, bytes, length, offset);
}
HAKOBI_IN_FRONT __attribute__((alias("pwrite"))) ssize_t pwrite64(int, const void*, size_t, off_t);
