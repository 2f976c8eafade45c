// Stands in front of the system's calls that change files, for the program and all its libraries. A call that
// is not among these, or made within libc, goes unseen: crash_test.cpp compares what the log makes with what
// is there, after each run.
#include "recorder.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

namespace hakobi::test {
namespace {

constexpr std::size_t log_bytes = std::size_t{256} << 20;  // those that are used take memory, no others

struct Recording {
    std::function<void()> interruption;
    std::size_t until_interruption = 0;
    std::atomic<Log*> log{nullptr};
    std::string root;
    int rank = 0;
    int slow_us = 0;
    pid_t caller = 0;
};
Recording& recording() {
    static auto* const made = new Recording;
    return *made;
}

thread_local int num_as_server = 0;

pid_t thread_id() {
    return static_cast<pid_t>(::syscall(SYS_gettid));
}

std::string path_of(int descriptor) {
    std::array<char, PATH_MAX> path{};
    const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size() - 1);
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : "";
}

std::string whole_path(int folder, const char* path) {
    if (path == nullptr || path[0] == '/') return path == nullptr ? "" : path;
    if (folder == AT_FDCWD) {
        std::array<char, PATH_MAX> here{};
        return ::getcwd(here.data(), here.size()) == nullptr ? "" : std::string(here.data()) + "/" + path;
    }
    const std::string before = path_of(folder);
    return std::string_view(path) == "." ? before : before + "/" + path;
}

/// From the root on; "" of what is elsewhere.
std::string inside(const std::string& path) {
    const std::string& root = recording().root;
    if (!path.starts_with(root) || path.size() <= root.size() || path[root.size()] != '/') return {};
    return path.substr(root.size());
}

std::uint64_t inode_of(int descriptor) {
    struct stat info {};
    return ::fstat(descriptor, &info) == 0 ? static_cast<std::uint64_t>(info.st_ino) : 0;
}

void let_others() {
    Recording& state = recording();
    if (!state.interruption || thread_id() != state.caller || state.until_interruption-- > 0) return;
    const int error = errno;
    std::exchange(state.interruption, nullptr)();
    errno = error;
}

/// Carries a call out and notes it in one: the log has the order in which storage had them.
class Turn {
  public:
    Turn() : log_(recording().log.load(std::memory_order_acquire)) {
        let_others();
        if (log_ != nullptr) log_->lock();
    }
    ~Turn() {
        if (log_ == nullptr) return;
        const int error = errno;
        log_->unlock();
        errno = error;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    void note(Operation operation) {
        const int error = errno;
        operation.rank = recording().rank;
        log_->append(operation);
        errno = error;
    }

  private:
    Log* log_;
};

bool is_recording() {
    return num_as_server == 0 && recording().log.load(std::memory_order_relaxed) != nullptr;
}

bool is_inside(int descriptor) {
    return is_recording() && !inside(path_of(descriptor)).empty();
}

int open_file(int folder, const char* path, int flags, mode_t mode) {
    const auto call = [&] { return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode)); };
    const std::string name = is_recording() ? inside(whole_path(folder, path)) : "";
    if (name.empty()) return call();
    if ((flags & (O_CREAT | O_TRUNC)) == 0) {
        let_others();
        return call();
    }
    Turn turn;
    struct stat info {};
    const bool was_there = ::fstatat(folder, path, &info, 0) == 0;
    const int opened = call();
    if (opened < 0) return opened;
    if ((flags & O_TMPFILE) == O_TMPFILE) {
        turn.note({.kind = Kind::unseen, .path = "O_TMPFILE", .to = {}, .bytes = {}});
    } else if (!was_there && (flags & O_CREAT) != 0) {
        turn.note({.kind = Kind::create, .inode = inode_of(opened), .path = name, .to = {}, .bytes = {}});
    } else if ((flags & O_TRUNC) != 0 && S_ISREG(info.st_mode)) {
        turn.note({.kind = Kind::truncate, .inode = inode_of(opened), .path = name, .to = {}, .bytes = {}});
    }
    return opened;
}

/// `at` -1: at the descriptor's place.
template <class Call>
ssize_t write_pieces(int descriptor, const iovec* pieces, int num, std::int64_t at, const Call& call) {
    if (!is_inside(descriptor)) return call();
    if (recording().slow_us > 0 && thread_id() != recording().caller)
        ::usleep(static_cast<useconds_t>(recording().slow_us));
    Turn turn;
    if (at < 0) {
        const int flags = ::fcntl(descriptor, F_GETFL);
        at = ::lseek(descriptor, 0, (flags & O_APPEND) != 0 ? SEEK_END : SEEK_CUR);
    }
    const ssize_t written = call();
    if (written <= 0) return written;
    Operation operation{.kind = Kind::write,
                        .inode = inode_of(descriptor),
                        .offset = at,
                        .path = inside(path_of(descriptor)),
                        .to = {},
                        .bytes = {}};
    for (int i = 0; i < num; ++i) {
        const auto* const begin = static_cast<const std::byte*>(pieces[i].iov_base);
        operation.bytes.insert(operation.bytes.end(), begin, begin + pieces[i].iov_len);
    }
    operation.bytes.resize(static_cast<std::size_t>(written));
    turn.note(std::move(operation));
    return written;
}

/// A call on the file of a descriptor; `offset` of what is noted.
template <class Call>
int on_file(Kind kind, int descriptor, std::int64_t offset, const Call& call) {
    if (!is_inside(descriptor) && !(is_recording() && path_of(descriptor) == recording().root)) return call();
    Turn turn;
    const int result = call();
    if (result == 0) {
        turn.note({.kind = kind,
                   .inode = inode_of(descriptor),
                   .offset = offset,
                   .path = inside(path_of(descriptor)),
                   .to = {},
                   .bytes = {}});
    }
    return result;
}

int sync_of(long number, int descriptor) {
    struct stat info {};
    const bool is_folder = is_recording() && ::fstat(descriptor, &info) == 0 && S_ISDIR(info.st_mode);
    return on_file(is_folder ? Kind::sync_folder : Kind::sync_file, descriptor, 0,
                   [&] { return static_cast<int>(::syscall(number, descriptor)); });
}

/// A call that changes names.
template <class Call>
int on_name(Kind kind, const std::string& path, const std::string& to, const Call& call) {
    const std::string name = is_recording() ? inside(path) : "";
    const std::string new_name = is_recording() ? inside(to) : "";
    if (name.empty() && new_name.empty()) return call();
    Turn turn;
    const int result = call();
    if (result != 0) return result;
    const bool is_across = !to.empty() && (name.empty() || new_name.empty());
    Operation operation{.kind = is_across ? Kind::unseen : kind, .path = name, .to = new_name, .bytes = {}};
    if (kind == Kind::make_folder) {
        struct stat info {};
        if (::stat(path.c_str(), &info) == 0) operation.inode = static_cast<std::uint64_t>(info.st_ino);
    }
    turn.note(std::move(operation));
    return result;
}

int rename_of(int from_folder, const char* from, int to_folder, const char* to, unsigned flags) {
    const auto call = [&] {
        return static_cast<int>(::syscall(SYS_renameat2, from_folder, from, to_folder, to, flags));
    };
    if (!is_recording()) return call();
    return on_name((flags & RENAME_EXCHANGE) != 0 ? Kind::unseen : Kind::rename,
                   whole_path(from_folder, from), whole_path(to_folder, to), call);
}

int link_of(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    const auto call = [&] {
        return static_cast<int>(::syscall(SYS_linkat, from_folder, from, to_folder, to, flags));
    };
    if (!is_recording()) return call();
    return on_name(Kind::link, whole_path(from_folder, from), whole_path(to_folder, to), call);
}

int unlink_of(int folder, const char* path, int flags) {
    const auto call = [&] { return static_cast<int>(::syscall(SYS_unlinkat, folder, path, flags)); };
    if (!is_recording()) return call();
    return on_name((flags & AT_REMOVEDIR) != 0 ? Kind::remove_folder : Kind::unlink, whole_path(folder, path),
                   {}, call);
}

int mkdir_of(int folder, const char* path, mode_t mode) {
    const auto call = [&] { return static_cast<int>(::syscall(SYS_mkdirat, folder, path, mode)); };
    return is_recording() ? on_name(Kind::make_folder, whole_path(folder, path), {}, call) : call();
}

/// Storage is given, and the file is longer where it ended before.
int allocate(int descriptor, int mode, off_t offset, off_t length) {
    const auto call = [&] {
        return static_cast<int>(::syscall(SYS_fallocate, descriptor, mode, offset, length));
    };
    if (!is_inside(descriptor)) return call();
    struct stat info {};
    if (mode == 0 && ::fstat(descriptor, &info) == 0 && info.st_size < offset + length)
        return on_file(Kind::truncate, descriptor, offset + length, call);
    const bool changes_nothing = mode == 0 || mode == FALLOC_FL_KEEP_SIZE;
    return changes_nothing ? call() : on_file(Kind::unseen, descriptor, 0, call);
}

constexpr const char* kinds[] = {
    "create",        "write", "truncate",        "rename",    "link",     "unlink", "mkdir", "rmdir", "put",
    "remove object", "fsync", "fsync of folder", "agreement", "end_step", "close",  "says",  "unseen"};

}  // namespace

std::string text_of(const Operation& operation) {
    std::string text = kinds[static_cast<std::size_t>(operation.kind)];
    if (operation.kind == Kind::ended) return text + " of step " + std::to_string(operation.offset);
    text += " " + operation.path;
    if (!operation.to.empty()) text += (operation.kind == Kind::put ? " if " : " -> ") + operation.to;
    if (operation.kind == Kind::put) text += " " + std::to_string(operation.bytes.size()) + " bytes";
    if (operation.kind == Kind::write)
        text +=
            " " + std::to_string(operation.bytes.size()) + " bytes at " + std::to_string(operation.offset);
    if (operation.kind == Kind::truncate) text += " to " + std::to_string(operation.offset);
    return text + " (rank " + std::to_string(operation.rank) + ")";
}

struct Log::Memory {
    std::atomic<int> owner;
    std::atomic<std::size_t> used;
    std::byte records[1];
};

Log::Log(const std::string& file) {
    int descriptor = -1;
    if (!file.empty()) {
        descriptor = static_cast<int>(
            ::syscall(SYS_openat, AT_FDCWD, file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
        (void)::syscall(SYS_ftruncate, descriptor, log_bytes);
    }
    const int kind = descriptor >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const memory = reinterpret_cast<void*>(
        ::syscall(SYS_mmap, nullptr, log_bytes, PROT_READ | PROT_WRITE, kind, descriptor, 0));
    if (descriptor >= 0) ::syscall(SYS_close, descriptor);
    if (memory == MAP_FAILED) std::abort();
    memory_ = static_cast<Memory*>(memory);
}

Log::~Log() {
    ::munmap(memory_, log_bytes);
}

void Log::lock() {
    const int mine = thread_id();
    for (int free = 0; !memory_->owner.compare_exchange_weak(free, mine, std::memory_order_acquire); free = 0)
        ::sched_yield();
}

void Log::unlock() {
    memory_->owner.store(0, std::memory_order_release);
}

void Log::clear() {
    memory_->used.store(0);
}

namespace {

struct Head {
    Kind kind;
    int rank;
    std::uint64_t inode;
    std::int64_t offset;
    std::size_t path, to, bytes;
};

}  // namespace

void Log::append(const Operation& operation) {
    const Head head{operation.kind,        operation.rank,      operation.inode,       operation.offset,
                    operation.path.size(), operation.to.size(), operation.bytes.size()};
    std::size_t at = memory_->used.load();
    if (at + sizeof head + head.path + head.to + head.bytes > log_bytes - sizeof(Memory)) std::abort();
    const auto put = [&](const void* bytes, std::size_t length) {
        if (length > 0) std::memcpy(memory_->records + at, bytes, length);
        at += length;
    };
    put(&head, sizeof head);
    put(operation.path.data(), head.path);
    put(operation.to.data(), head.to);
    put(operation.bytes.data(), head.bytes);
    memory_->used.store(at);
}

std::vector<Operation> Log::operations() const {
    std::vector<Operation> all;
    const std::size_t used = memory_->used.load();
    for (std::size_t at = 0; at < used;) {
        Head head{};
        std::memcpy(&head, memory_->records + at, sizeof head);
        const auto* const text = reinterpret_cast<const char*>(memory_->records + at + sizeof head);
        const std::byte* const bytes = memory_->records + at + sizeof head + head.path + head.to;
        all.push_back({.kind = head.kind,
                       .rank = head.rank,
                       .inode = head.inode,
                       .offset = head.offset,
                       .path = std::string(text, head.path),
                       .to = std::string(text + head.path, head.to),
                       .bytes = std::vector<std::byte>(bytes, bytes + head.bytes)});
        at += sizeof head + head.path + head.to + head.bytes;
    }
    return all;
}

void start_recording(Log& log, const std::string& root, int rank, int slow_us) {
    Recording& state = recording();
    state.root = root;
    state.rank = rank;
    state.slow_us = slow_us;
    state.caller = thread_id();
    state.log.store(&log, std::memory_order_release);
}

void stop_recording() {
    recording().log.store(nullptr);
}

void interrupt(std::size_t nth, std::function<void()> call) {
    recording().until_interruption = nth;
    recording().interruption = std::move(call);
}

bool end_interrupting() {
    return std::exchange(recording().interruption, nullptr) != nullptr;
}

void carry_out(const std::function<std::optional<Operation>()>& change) {
    const bool is_noted = is_recording();
    const AsServer server;
    if (!is_noted) return (void)change();
    Turn turn;
    if (std::optional<Operation> changed = change()) turn.note(std::move(*changed));
}

AsServer::AsServer() {
    ++num_as_server;
}
AsServer::~AsServer() {
    --num_as_server;
}

void note(Kind kind, std::int64_t number, const std::string& text) {
    if (!is_recording()) return;
    Turn turn;
    turn.note({.kind = kind, .offset = number, .path = text, .to = {}, .bytes = {}});
}

Words::Words() : before_(stderr) {
    const cookie_io_functions_t functions{
        .read = nullptr,
        .write = [](void*, const char* text, std::size_t length) -> ssize_t {
            note(Kind::says, 0, std::string(text, length));
            return static_cast<ssize_t>(length);
        },
        .seek = nullptr,
        .close = nullptr};
    std::FILE* const stream = ::fopencookie(nullptr, "w", functions);
    std::setvbuf(stream, nullptr, _IOLBF, BUFSIZ);
    stream_ = stream;
    stderr = stream;
}

Words::~Words() {
    stderr = static_cast<std::FILE*>(before_);
    std::fclose(static_cast<std::FILE*>(stream_));
}

}  // namespace hakobi::test

// The program's own, before libc's.
#define HAKOBI_IN_FRONT extern "C" __attribute__((visibility("default")))
using namespace hakobi::test;  // NOLINT(google-build-using-namespace): what follows is C's

namespace {
mode_t mode_in(int flags, va_list arguments) {
    return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
}
}  // namespace

HAKOBI_IN_FRONT int open(const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return open_file(AT_FDCWD, path, flags, mode);
}
HAKOBI_IN_FRONT __attribute__((alias("open"))) int open64(const char*, int, ...);
HAKOBI_IN_FRONT int openat(int folder, const char* path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    const mode_t mode = mode_in(flags, arguments);
    va_end(arguments);
    return open_file(folder, path, flags, mode);
}
HAKOBI_IN_FRONT __attribute__((alias("openat"))) int openat64(int, const char*, int, ...);
HAKOBI_IN_FRONT int creat(const char* path, mode_t mode) {
    return open_file(AT_FDCWD, path, O_WRONLY | O_CREAT | O_TRUNC, mode);
}
HAKOBI_IN_FRONT __attribute__((alias("creat"))) int creat64(const char*, mode_t);

HAKOBI_IN_FRONT ssize_t pwrite(int descriptor, const void* bytes, size_t length, off_t offset) {
    const iovec piece{const_cast<void*>(bytes), length};
    return write_pieces(descriptor, &piece, 1, offset, [&] {
        return static_cast<ssize_t>(::syscall(SYS_pwrite64, descriptor, bytes, length, offset));
    });
}
HAKOBI_IN_FRONT __attribute__((alias("pwrite"))) ssize_t pwrite64(int, const void*, size_t, off_t);
HAKOBI_IN_FRONT ssize_t write(int descriptor, const void* bytes, size_t length) {
    const iovec piece{const_cast<void*>(bytes), length};
    return write_pieces(descriptor, &piece, 1, -1, [&] {
        return static_cast<ssize_t>(::syscall(SYS_write, descriptor, bytes, length));
    });
}
HAKOBI_IN_FRONT ssize_t writev(int descriptor, const iovec* pieces, int num) {
    return write_pieces(descriptor, pieces, num, -1,
                        [&] { return static_cast<ssize_t>(::syscall(SYS_writev, descriptor, pieces, num)); });
}
HAKOBI_IN_FRONT ssize_t pwritev(int descriptor, const iovec* pieces, int num, off_t offset) {
    return write_pieces(descriptor, pieces, num, offset, [&] {
        return static_cast<ssize_t>(::syscall(SYS_pwritev, descriptor, pieces, num, offset, 0));
    });
}
HAKOBI_IN_FRONT __attribute__((alias("pwritev"))) ssize_t pwritev64(int, const iovec*, int, off_t);

HAKOBI_IN_FRONT int ftruncate(int descriptor, off_t bytes) noexcept {
    return on_file(Kind::truncate, descriptor, bytes,
                   [&] { return static_cast<int>(::syscall(SYS_ftruncate, descriptor, bytes)); });
}
HAKOBI_IN_FRONT __attribute__((alias("ftruncate"), nothrow)) int ftruncate64(int, off_t);
HAKOBI_IN_FRONT int truncate(const char* path, off_t bytes) noexcept {
    const int descriptor = open_file(AT_FDCWD, path, O_WRONLY | O_CLOEXEC, 0);
    if (descriptor < 0) return -1;
    const int result = ftruncate(descriptor, bytes);
    ::syscall(SYS_close, descriptor);
    return result;
}
HAKOBI_IN_FRONT __attribute__((alias("truncate"), nothrow)) int truncate64(const char*, off_t);
HAKOBI_IN_FRONT int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    return allocate(descriptor, mode, offset, length);
}
HAKOBI_IN_FRONT __attribute__((alias("fallocate"))) int fallocate64(int, int, off_t, off_t);
HAKOBI_IN_FRONT int posix_fallocate(int descriptor, off_t offset, off_t length) {
    return allocate(descriptor, 0, offset, length) == 0 ? 0 : errno;
}
HAKOBI_IN_FRONT __attribute__((alias("posix_fallocate"))) int posix_fallocate64(int, off_t, off_t);
HAKOBI_IN_FRONT ssize_t copy_file_range(int from, off64_t* from_offset, int to, off64_t* to_offset,
                                        size_t length, unsigned flags) {
    if (is_inside(to)) note(Kind::unseen, 0, "copy_file_range");
    return ::syscall(SYS_copy_file_range, from, from_offset, to, to_offset, length, flags);
}
HAKOBI_IN_FRONT void* mmap(void* address, size_t length, int access, int flags, int descriptor,
                           off_t offset) noexcept {
    if (descriptor >= 0 && (access & PROT_WRITE) != 0 && (flags & MAP_SHARED) != 0 && is_inside(descriptor))
        note(Kind::unseen, 0, "mmap of " + path_of(descriptor));
    return reinterpret_cast<void*>(::syscall(SYS_mmap, address, length, access, flags, descriptor, offset));
}
HAKOBI_IN_FRONT __attribute__((alias("mmap"), nothrow)) void* mmap64(void*, size_t, int, int, int, off_t);

HAKOBI_IN_FRONT int fsync(int descriptor) {
    return sync_of(SYS_fsync, descriptor);
}
HAKOBI_IN_FRONT int fdatasync(int descriptor) {
    return sync_of(SYS_fdatasync, descriptor);
}

HAKOBI_IN_FRONT int rename(const char* from, const char* to) noexcept {
    return rename_of(AT_FDCWD, from, AT_FDCWD, to, 0);
}
HAKOBI_IN_FRONT int renameat(int from_folder, const char* from, int to_folder, const char* to) noexcept {
    return rename_of(from_folder, from, to_folder, to, 0);
}
HAKOBI_IN_FRONT int renameat2(int from_folder, const char* from, int to_folder, const char* to,
                              unsigned flags) noexcept {
    return rename_of(from_folder, from, to_folder, to, flags);
}
HAKOBI_IN_FRONT int link(const char* from, const char* to) noexcept {
    return link_of(AT_FDCWD, from, AT_FDCWD, to, 0);
}
HAKOBI_IN_FRONT int linkat(int from_folder, const char* from, int to_folder, const char* to,
                           int flags) noexcept {
    return link_of(from_folder, from, to_folder, to, flags);
}
HAKOBI_IN_FRONT int unlink(const char* path) noexcept {
    return unlink_of(AT_FDCWD, path, 0);
}
HAKOBI_IN_FRONT int unlinkat(int folder, const char* path, int flags) noexcept {
    return unlink_of(folder, path, flags);
}
HAKOBI_IN_FRONT int rmdir(const char* path) noexcept {
    return unlink_of(AT_FDCWD, path, AT_REMOVEDIR);
}
HAKOBI_IN_FRONT int remove(const char* path) noexcept {
    const int result = unlink_of(AT_FDCWD, path, 0);
    return result != 0 && (errno == EISDIR || errno == EPERM) ? unlink_of(AT_FDCWD, path, AT_REMOVEDIR)
                                                              : result;
}
HAKOBI_IN_FRONT int mkdir(const char* path, mode_t mode) noexcept {
    return mkdir_of(AT_FDCWD, path, mode);
}
HAKOBI_IN_FRONT int mkdirat(int folder, const char* path, mode_t mode) noexcept {
    return mkdir_of(folder, path, mode);
}
