#include "storage/posix.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "base/forked.hpp"
#include "storage/beneath.hpp"
#include "storage/posix_abilities.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::storage {

namespace {

constexpr std::int64_t direct_alignment_bytes = 4096;

/// Past RLIMIT_FSIZE the kernel sends SIGXFSZ, which ends the process; the file therefore never asks for it.
std::int64_t size_limit_bytes() {
    rlimit limit{};
    constexpr auto none = std::numeric_limits<std::int64_t>::max();
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return none;
    return static_cast<std::int64_t>(std::min<rlim_t>(limit.rlim_cur, none));
}

bool is_aligned(const void* address, std::int64_t offset) {
    return reinterpret_cast<std::uintptr_t>(address) % direct_alignment_bytes == 0 &&
           offset % direct_alignment_bytes == 0;
}

class PosixFile final : public File {
  public:
    PosixFile(std::string path, int fd, int direct_fd, const OpenMode& mode)
        : path_(std::move(path)),
          fd_(fd),
          direct_fd_(direct_fd),
          storage_(look_at(fd)),
          limit_bytes_(size_limit_bytes()) {
        storage_.abilities.is_direct = direct_fd >= 0;
        if (mode.is_shared) pass_cache(fd, storage_.abilities);
        // Ranges are locked by it.
        if (mode.write) kept_.emplace();
        if (mode.write) keep_from_children(fd);
    }
    ~PosixFile() override { (void)close(); }

    Status write_at(std::span<const std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot write", path_); !status.ok())
            return status;
        // The part below the size limit is written, as the kernel would, before the error is reported.
        const std::int64_t room = std::max<std::int64_t>(0, limit_bytes_ - offset);
        const bool is_cut = static_cast<std::int64_t>(data.size()) > room;
        if (is_cut) data = data.first(static_cast<std::size_t>(room));
        while (!data.empty()) {
            const auto [fd, length] = choose(data.data(), data.size(), offset);
            const ssize_t moved = ::pwrite(fd, data.data(), length, offset);
            if (moved < 0) {
                if (errno == EINTR) continue;
                if (errno == EINVAL && refuses_direct(fd)) continue;
                return failure(errno, "cannot write");
            }
            if (moved == 0) {
                return {ErrorCode::io, "cannot write " + path_ + ": the file system took no byte at offset " +
                                           std::to_string(offset)};
            }
            data = data.subspan(static_cast<std::size_t>(moved));
            offset += moved;
        }
        return is_cut ? failure(EFBIG, "cannot write") : Status();
    }

    Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) override {
        if (Status status = check_range(offset, data.size(), "cannot read", path_); !status.ok())
            return status;
        // A direct read of the file's last, partial block fills the buffer's block up with zeros, and what
        // lies behind the end is to stay untouched: that block is read buffered.
        std::int64_t direct_end = std::numeric_limits<std::int64_t>::max();
        if (direct_fd_ >= 0) {
            Result<std::int64_t> size = size_bytes();
            if (!size.ok()) return size;
            direct_end = size.value() - size.value() % direct_alignment_bytes;
        }
        std::int64_t total = 0;
        while (!data.empty()) {
            auto [fd, length] = choose(data.data(), data.size(), offset);
            if (fd == direct_fd_ && offset >= direct_end) {
                fd = fd_;
                length = data.size();
            } else if (fd == direct_fd_) {
                length = std::min(length, static_cast<std::size_t>(direct_end - offset));
            }
            const ssize_t moved = ::pread(fd, data.data(), length, offset);
            if (moved < 0) {
                if (errno == EINTR) continue;
                if (errno == EINVAL && refuses_direct(fd)) continue;
                return failure(errno, "cannot read");
            }
            if (moved == 0) break;
            data = data.subspan(static_cast<std::size_t>(moved));
            offset += moved;
            total += moved;
        }
        return total;
    }

    Result<std::int64_t> size_bytes() override {
        struct stat info {};
        if (::fstat(fd_, &info) != 0) return failure(errno, "cannot stat");
        return static_cast<std::int64_t>(info.st_size);
    }

    Status set_size(std::int64_t bytes) override {
        if (Status status = check_range(bytes, 0, "cannot resize", path_); !status.ok()) return status;
        if (bytes > limit_bytes_) return failure(EFBIG, "cannot resize");
        while (::ftruncate(fd_, bytes) != 0) {
            if (errno != EINTR) return failure(errno, "cannot resize");
        }
        return {};
    }

    Status preallocate(std::int64_t bytes) override {
        if (Status status = check_range(bytes, 0, "cannot preallocate", path_); !status.ok()) return status;
        if (bytes == 0) return {};
        if (bytes > limit_bytes_) return failure(EFBIG, "cannot preallocate");
        while (::fallocate(fd_, 0, 0, bytes) != 0) {
            if (errno == EINTR) continue;
            if (errno == EOPNOTSUPP || errno == ENOSYS) return fill_to(bytes);
            return failure(errno, "cannot preallocate");
        }
        return {};
    }

    Status lock_range(std::int64_t offset, std::int64_t length) override {
        return lock_to_fill(fd_, offset, length);
    }
    Status unlock_range(std::int64_t offset, std::int64_t length) override {
        return unlock_filled(fd_, offset, length);
    }

    Status sync() override {
        while (::fsync(fd_) != 0) {
            if (errno == EINTR) continue;
            if (errno == EINVAL) return {};  // a pipe or device without anything to sync
            return failure(errno, "cannot sync");
        }
        // Or a later write into a page that is still here would bring back what another node has overwritten
        // since.
        if (storage_.abilities.writer_block_bytes > 1) (void)::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED);
        return {};
    }

    Status close() override {
        // A child has no such descriptor, or another file by its number.
        if (kept_ && !kept_->is_this_process()) return {};
        // Linux frees the descriptor whatever close returns; repeating it could close another thread's file.
        Status status;
        if (kept_) forget_descriptor(fd_);
        for (int* fd : {&direct_fd_, &fd_}) {
            const int open_fd = std::exchange(*fd, -1);
            if (open_fd >= 0 && ::close(open_fd) != 0 && errno != EINTR)
                status.keep_first(failure(errno, "cannot close"));
        }
        return status;
    }

    [[nodiscard]] const std::string& path() const noexcept override { return path_; }
    [[nodiscard]] int descriptor() const noexcept override { return direct_fd_ >= 0 ? direct_fd_ : fd_; }
    [[nodiscard]] const Abilities& abilities() const noexcept override { return storage_.abilities; }
    [[nodiscard]] const Layout& layout() const noexcept override { return storage_.layout; }

  private:
    struct Choice {
        int fd;
        std::size_t length;
    };

    /// Chooses the descriptor for the bytes from `data` on, and how many of them it takes: the aligned middle
    /// goes by the direct one, an unaligned head up to the next boundary and an unaligned tail by the
    /// buffered one.
    [[nodiscard]] Choice choose(const std::byte* data, std::size_t length, std::int64_t offset) const {
        if (direct_fd_ < 0 || is_direct_refused_.load(std::memory_order_relaxed)) return {fd_, length};
        if (is_aligned(data, offset)) {
            const std::size_t whole = length - length % direct_alignment_bytes;
            return whole > 0 ? Choice{direct_fd_, whole} : Choice{fd_, length};
        }
        const std::int64_t to_boundary = direct_alignment_bytes - offset % direct_alignment_bytes;
        if (to_boundary < static_cast<std::int64_t>(length) &&
            is_aligned(data + to_boundary, offset + to_boundary)) {
            return {fd_, static_cast<std::size_t>(to_boundary)};
        }
        return {fd_, length};
    }

    /// Whether an EINVAL from `fd` may be met by going on with the buffered descriptor, as all do from now
    /// on: some file systems accept the flag and refuse the transfer (a device block larger than ours, the
    /// short tail after a partial transfer). Several threads may find that out at once.
    [[nodiscard]] bool refuses_direct(int fd) {
        if (fd != direct_fd_ || fd < 0) return false;
        is_direct_refused_.store(true, std::memory_order_relaxed);
        return true;
    }

    /// Storage behind the end of the file where the file system has no fallocate: zeros are written from the
    /// present end on, so that nothing else may extend the file meanwhile. Holes before the end stay holes.
    Status fill_to(std::int64_t bytes) {
        Result<std::int64_t> size = size_bytes();
        if (!size.ok()) return size.status();
        const std::vector<std::byte> zeros(std::size_t{1} << 20);
        for (std::int64_t offset = size.value(); offset < bytes;) {
            const std::int64_t length = std::min<std::int64_t>(bytes - offset, std::ssize(zeros));
            if (Status status = write_at(std::span(zeros).first(static_cast<std::size_t>(length)), offset);
                !status.ok()) {
                return status;
            }
            offset += length;
        }
        return {};
    }

    [[nodiscard]] Status failure(int error, std::string_view what) const {
        return status_of_errno(error, what, path_);
    }

    std::string path_;
    int fd_;         // buffered
    int direct_fd_;  // with O_DIRECT, or -1
    PosixStorage storage_;
    std::atomic<bool> is_direct_refused_ = false;
    std::int64_t limit_bytes_;
    std::optional<Maker> kept_;  // from children
};

int open_file_retrying(const Reached& file, int flags) {
    int fd;
    do {
        fd = ::openat(file.from(), file.name.c_str(), flags | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

// An NFS client keeps names. If another node has removed a file and made a new one of that name, open may
// still find the old one, and what is written to it is lost without an error (Linux 6.1, NFS 4.1,
// nfs-ganesha). To link a name to itself fails with EEXIST, but before that the client has looked the name up
// at the server.
bool is_named(int fd, const Reached& file) {
    struct stat opened {
    }, named{};
    const char* const name = file.name.c_str();
    (void)::linkat(file.from(), name, file.from(), name, 0);
    // A handle that is stale fails here, although writes to it may not.
    return ::fstat(fd, &opened) == 0 && ::fstatat(file.from(), name, &named, 0) == 0 &&
           opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

/// Closes what no file has taken over.
struct OpenDescriptors {
    int fd = -1, direct_fd = -1;
    OpenDescriptors() = default;
    OpenDescriptors(const OpenDescriptors&) = delete;
    OpenDescriptors& operator=(const OpenDescriptors&) = delete;
    ~OpenDescriptors() {
        for (const int each : {fd, direct_fd})
            if (each >= 0) ::close(each);
    }
};

/// The file that has the name now.
int open_of_others(const Reached& file, int flags) {
    constexpr int most_tries = 8;  // each time the file would have been replaced again
    int fd = open_file_retrying(file, flags);
    for (int i = 0; i < most_tries && fd >= 0 && is_on_nfs(fd) && !is_named(fd, file); ++i) {
        ::close(fd);
        fd = open_file_retrying(file, flags);
    }
    return fd;
}

}  // namespace

Result<FilePtr> open_posix(const std::string& path, const OpenMode& mode) {
    const std::string& name = mode.name.empty() ? path : mode.name;
    const int access_flags = mode.write ? (mode.read ? O_RDWR : O_WRONLY) : O_RDONLY;
    const int making_flags = (mode.create ? O_CREAT : 0) | (mode.create && mode.exclusive ? O_EXCL : 0) |
                             (mode.truncate ? O_TRUNC : 0);
    const bool is_careful = mode.regular_only || !mode.root.empty();
    // Without O_NONBLOCK the opening of a FIFO waits for its other end.
    const int careful_flags = is_careful ? O_NOFOLLOW | O_NONBLOCK | O_NOCTTY : 0;
    const ErrorCode kind_code = mode.write ? ErrorCode::exists : ErrorCode::format;
    const int flags = access_flags | making_flags | careful_flags;
    const Result<Reached> reached = reach(path, mode.root);
    if (!reached.ok()) return reached.status();
    OpenDescriptors opened;
    opened.fd =
        mode.is_others ? open_of_others(reached.value(), flags) : open_file_retrying(reached.value(), flags);
    const int fd = opened.fd;
    if (fd < 0 && is_careful && (errno == ELOOP || errno == ENXIO)) {
        return Status(kind_code, "cannot open " + name + ": it is a " +
                                     (errno == ELOOP ? "symbolic link" : "FIFO or a socket") +
                                     ", not a regular file");
    }
    if (fd < 0) return status_of_errno(errno, "cannot open", name);
    struct stat info {};
    if (::fstat(fd, &info) == 0 && !S_ISREG(info.st_mode) && (is_careful || S_ISDIR(info.st_mode))) {
        if (S_ISDIR(info.st_mode)) return status_of_errno(EISDIR, "cannot open", name);
        return Status(kind_code, "cannot open " + name + ": it is not a regular file");
    }
    if (mode.direct) opened.direct_fd = open_file_retrying(reached.value(), access_flags | O_DIRECT);
    FilePtr file = std::make_unique<PosixFile>(name, fd, opened.direct_fd, mode);
    opened.fd = opened.direct_fd = -1;
    return file;
}

}  // namespace hakobi::storage
