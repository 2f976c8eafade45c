#include "system_calls.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
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

/// Says which call fails. There before any constructor runs, as the calls are.
struct Armed {
    std::atomic<SystemCall> call{SystemCall::none};
    std::atomic<std::int64_t> nth{0}, num_calls{0};
    std::atomic<bool> has_failed{false}, is_counting{false};
    std::array<std::atomic<std::int64_t>, num_system_calls> counts{};
};
constinit Armed armed;

struct Failing {
    std::string folder;
    std::map<std::pair<dev_t, ino_t>, std::vector<Overwritten>> unsynced;
    std::recursive_mutex mutex;
};
Failing& failing() {
    static auto* const made = new Failing;
    return *made;
}

/// Below the folder, or memory that Hakobi's processes share.
bool is_below(const std::string& path) {
    return path.starts_with(failing().folder + "/") || path.starts_with("/memfd:hakobi") ||
           (path.starts_with("/proc/") && path.find("/fd/") != std::string::npos);
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
    const std::scoped_lock lock(failing().mutex);
    return is_below(path) && is_call_due(call);
}
/// The same of a call that one descriptor, or path, names; nobody asks for it unless calls are looked at.
bool is_due(SystemCall call, int descriptor) {
    if (!is_watched(call)) return false;
    const OwnMemory own;
    return is_due(call, path_of(descriptor));
}
bool is_due_at(SystemCall call, int folder, const char* path) {
    if (!is_watched(call)) return false;
    const OwnMemory own;
    return is_due(call, folder == AT_FDCWD || path[0] == '/' ? absolute(path) : path_of(folder) + "/" + path);
}

bool tracks_writes() {
    const SystemCall call = armed.call.load(std::memory_order_relaxed);
    return call == SystemCall::fsync || call == SystemCall::fdatasync || call == SystemCall::close;
}

std::pair<dev_t, ino_t> file_of(int descriptor) {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) return {};
    return {info.st_dev, info.st_ino};
}

void note_write(int descriptor, std::size_t length, std::int64_t offset) {
    const OwnMemory own;
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
    const OwnMemory own;
    const std::scoped_lock lock(failing().mutex);
    failing().unsynced.erase(file_of(descriptor));
}

void lose_writes(int descriptor) {
    const OwnMemory own;
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

int refuse(int error = EDQUOT) {
    errno = error;
    return -1;
}

int sync_of(SystemCall call, long number, int descriptor) {
    if (is_due(SystemCall::interrupted, descriptor)) return refuse(EINTR);
    if (is_due(call, descriptor)) {
        lose_writes(descriptor);
        return refuse();
    }
    const int result = static_cast<int>(::syscall(number, descriptor));
    if (result == 0 && tracks_writes()) note_stored(descriptor);
    return result;
}

int rename_of(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    if (is_due_at(SystemCall::rename, from_folder, from)) return refuse();
    return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
}

int link_of(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    if (is_due_at(SystemCall::link, to_folder, to)) return refuse();
    return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
}

int unlink_of(int folder, const char* path, int flags) {
    if (is_due_at(SystemCall::unlink, folder, path)) return refuse();
    return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags));
}

int mkdir_of(int folder, const char* path, mode_t mode) {
    if (is_due_at(SystemCall::mkdir, folder, path)) return refuse();
    return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode));
}

int open_of(int folder, const char* path, int flags, mode_t mode) {
    if (is_due_at(SystemCall::open, folder, path)) return refuse(EMFILE);
    return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}

/// Whether a transfer fails, errno then says why; else how many bytes of `length` it may move.
bool is_transfer_refused(SystemCall call, SystemCall half, int descriptor, std::size_t& length) {
    if (is_due(SystemCall::interrupted, descriptor)) return refuse(EINTR) != 0;
    if (is_due(call, descriptor)) return refuse(call == SystemCall::read ? EIO : EDQUOT) != 0;
    if (length > 1 && is_due(half, descriptor)) length /= 2;
    return false;
}
bool is_read_refused(int descriptor, std::size_t& length) {
    return is_transfer_refused(SystemCall::read, SystemCall::short_read, descriptor, length);
}
bool is_write_refused(int descriptor, std::size_t& length) {
    return is_transfer_refused(SystemCall::write, SystemCall::short_write, descriptor, length);
}

}  // namespace

int& OwnMemory::depth() noexcept {
    static thread_local int depth = 0;
    return depth;
}

std::string_view name_of(SystemCall call) {
    static constexpr std::array<std::string_view, num_system_calls> names = {
        "none",         "open",      "read",   "short_read", "write",  "short_write", "interrupted",
        "fsync",        "fdatasync", "close",  "rename",     "link",   "unlink",      "mkdir",
        "truncate",     "fallocate", "mmap",   "buffer",     "memory", "thread",      "copy",
        "communicator", "hdf5",      "socket", "connect",    "send",   "receive"};
    return names[static_cast<std::size_t>(call)];
}

bool is_watched(SystemCall call) noexcept {
    return armed.call.load(std::memory_order_relaxed) == call ||
           armed.is_counting.load(std::memory_order_relaxed);
}

bool is_call_due(SystemCall call) noexcept {
    if (armed.is_counting.load(std::memory_order_relaxed)) {
        ++armed.counts[static_cast<std::size_t>(call)];
        return false;
    }
    if (armed.call.load(std::memory_order_relaxed) != call || ++armed.num_calls != armed.nth.load())
        return false;
    armed.has_failed.store(true);
    return true;
}

void fail_call(SystemCall call, std::int64_t nth, const std::string& folder) {
    const std::scoped_lock lock(failing().mutex);
    failing().folder = folder;
    failing().unsynced.clear();
    armed.nth.store(nth);
    armed.num_calls.store(0);
    armed.has_failed.store(false);
    armed.call.store(call);
}

bool end_failing() {
    armed.call.store(SystemCall::none);
    const std::scoped_lock lock(failing().mutex);
    return armed.has_failed.load();
}

void count_calls(const std::string& folder) {
    const std::scoped_lock lock(failing().mutex);
    failing().folder = folder;
    for (auto& count : armed.counts) count.store(0);
    armed.is_counting.store(true);
}

std::array<std::int64_t, num_system_calls> end_counting() {
    armed.is_counting.store(false);
    std::array<std::int64_t, num_system_calls> counts{};
    std::ranges::transform(armed.counts, counts.begin(), [](const auto& count) { return count.load(); });
    return counts;
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
    if (is_due(SystemCall::close, descriptor)) {
        lose_writes(descriptor);
        ::syscall(SYS_close, descriptor);
        return refuse();
    }
    if (armed.call.load(std::memory_order_relaxed) == SystemCall::close) {
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
HAKOBI_IN_FRONT int link(const char* from, const char* to) noexcept {
    return hakobi::test::link_of(AT_FDCWD, from, AT_FDCWD, to, 0);
}
HAKOBI_IN_FRONT int linkat(int from_folder, const char* from, int to_folder, const char* to,
                           int flags) noexcept {
    return hakobi::test::link_of(from_folder, from, to_folder, to, flags);
}
HAKOBI_IN_FRONT int ftruncate(int descriptor, off_t bytes) noexcept {
    using namespace hakobi::test;
    if (is_due(SystemCall::interrupted, descriptor)) return refuse(EINTR);
    if (is_due(SystemCall::truncate, descriptor)) return refuse();
    return static_cast<int>(::syscall(SYS_ftruncate, descriptor, bytes));
}
HAKOBI_IN_FRONT __attribute__((alias("ftruncate"), nothrow)) int ftruncate64(int, off_t);
HAKOBI_IN_FRONT int fallocate(int descriptor, int mode, off_t offset, off_t bytes) {
    using namespace hakobi::test;
    if (is_due(SystemCall::fallocate, descriptor)) return refuse();
    return static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, offset, bytes));
}
HAKOBI_IN_FRONT __attribute__((alias("fallocate"))) int fallocate64(int, int, off_t, off_t);
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
    return hakobi::test::mkdir_of(AT_FDCWD, path, mode);
}
HAKOBI_IN_FRONT int mkdirat(int folder, const char* path, mode_t mode) noexcept {
    return hakobi::test::mkdir_of(folder, path, mode);
}
HAKOBI_IN_FRONT int open(const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return hakobi::test::open_of(AT_FDCWD, path, flags, mode);
}
HAKOBI_IN_FRONT __attribute__((alias("open"))) int open64(const char*, int, ...);
HAKOBI_IN_FRONT int openat(int folder, const char* path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    const mode_t mode = (flags & (O_CREAT | __O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
    va_end(more);
    return hakobi::test::open_of(folder, path, flags, mode);
}
HAKOBI_IN_FRONT __attribute__((alias("openat"))) int openat64(int, const char*, int, ...);
HAKOBI_IN_FRONT DIR* opendir(const char* path) {
    const int folder =
        hakobi::test::open_of(AT_FDCWD, path, O_RDONLY | O_NDELAY | O_DIRECTORY | O_LARGEFILE | O_CLOEXEC, 0);
    return folder < 0 ? nullptr : ::fdopendir(folder);
}
HAKOBI_IN_FRONT ssize_t read(int descriptor, void* bytes, size_t length) {
    if (hakobi::test::is_read_refused(descriptor, length)) return -1;
    return ::syscall(SYS_read, descriptor, bytes, length);
}
HAKOBI_IN_FRONT ssize_t pread(int descriptor, void* bytes, size_t length, off_t offset) {
    if (hakobi::test::is_read_refused(descriptor, length)) return -1;
    return ::syscall(SYS_pread64, descriptor, bytes, length, offset);
}
HAKOBI_IN_FRONT __attribute__((alias("pread"))) ssize_t pread64(int, void*, size_t, off_t);
HAKOBI_IN_FRONT ssize_t write(int descriptor, const void* bytes, size_t length) {
    if (hakobi::test::is_write_refused(descriptor, length)) return -1;
    return ::syscall(SYS_write, descriptor, bytes, length);
}
HAKOBI_IN_FRONT ssize_t pwrite(int descriptor, const void* bytes, size_t length, off_t offset) {
    if (hakobi::test::is_write_refused(descriptor, length)) return -1;
    if (hakobi::test::tracks_writes()) hakobi::test::note_write(descriptor, length, offset);
    return ::syscall(SYS_pwrite64, descriptor, bytes, length, offset);
}
HAKOBI_IN_FRONT __attribute__((alias("pwrite"))) ssize_t pwrite64(int, const void*, size_t, off_t);
HAKOBI_IN_FRONT ssize_t copy_file_range(int from, off_t* from_offset, int to, off_t* to_offset, size_t length,
                                        unsigned flags) {
    if (hakobi::test::is_write_refused(to, length)) return -1;
    return ::syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);
}
