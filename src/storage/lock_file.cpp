#include "storage/lock_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

#include "storage/file.hpp"

namespace hakobi::storage {
namespace {

constexpr std::string_view magic = "hakobi lock: ";
constexpr int most_tries = 100;  // each means that another owner came and went

/// "hakobi lock: pid 4711 on node7 since 2026-03-11 05:46:24 UTC (job 123)".
std::string own_text() {
    std::array<char, 256> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
    const std::time_t now = std::time(nullptr);
    std::tm date{};
    ::gmtime_r(&now, &date);
    std::array<char, 32> since{};
    std::strftime(since.data(), since.size(), "%Y-%m-%d %H:%M:%S", &date);
    std::string text(magic);
    text.append("pid ").append(std::to_string(::getpid())).append(" on ").append(host.data());
    text.append(" since ").append(since.data()).append(" UTC");
    for (const char* name : {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PJM_JOBID", "JOB_ID"}) {
        if (const char* job = std::getenv(name)) return text.append(" (job ").append(job).append(")\n");
    }
    return text.append("\n");
}

constexpr std::size_t most_text_bytes = 512;

/// The file's beginning, without what a terminal would take for more than text, and without zeros at its end:
/// a crash of the system may keep a file's size and lose its bytes.
std::string printable_text(int file) {
    std::array<char, most_text_bytes> bytes{};
    const ssize_t length = ::pread(file, bytes.data(), bytes.size(), 0);
    std::string text(bytes.data(), length > 0 ? static_cast<std::size_t>(length) : 0);
    while (text.ends_with('\n') || text.ends_with('\0')) text.pop_back();
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 32 || c == 127; }, '?');
    return text;
}

int open_retrying(int folder, const char* name, int flags) {
    int fd;
    do {
        fd = ::openat(folder, name, flags | O_CLOEXEC, 0666);
    } while (fd < 0 && errno == EINTR);
    return fd;
}

/// 0, or the reason as errno.
int lock(int file) {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    whole.l_whence = SEEK_SET;
    while (::fcntl(file, F_OFD_SETLK, &whole) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

bool has_name(int file, int folder, const char* name) {
    struct stat mine {
    }, named{};
    return ::fstat(file, &mine) == 0 && ::fstatat(folder, name, &named, AT_SYMLINK_NOFOLLOW) == 0 &&
           mine.st_dev == named.st_dev && mine.st_ino == named.st_ino;
}

}  // namespace

bool is_without_locks(int error) {
    return error == ENOLCK || error == EINVAL || code_of_errno(error) == ErrorCode::unsupported;
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
    std::swap(folder_, other.folder_);
    std::swap(file_, other.file_);
    std::swap(name_, other.name_);
    std::swap(left_by_, other.left_by_);
    return *this;
}

Result<LockFile> LockFile::take(const std::string& path, std::string_view whose) {
    const auto in_the_way = [&](std::string_view what) {
        return Status(ErrorCode::exists,
                      "cannot lock " + std::string(whose) + ": " + path + " is " + std::string(what));
    };
    if (system_path(path).empty()) return LockFile();
    const std::size_t slash = path.rfind('/');
    const std::string folder =
        slash == std::string::npos ? "." : path.substr(0, std::max<std::size_t>(slash, 1));
    LockFile result;
    result.name_ = path.substr(slash == std::string::npos ? 0 : slash + 1);
    const char* name = result.name_.c_str();
    result.folder_ =
        OwnDescriptor([&] { return open_retrying(AT_FDCWD, folder.c_str(), O_RDONLY | O_DIRECTORY); });
    if (result.folder_.get() < 0) return status_of_errno(errno, "cannot open folder", folder);
    for (int tries = 0; tries < most_tries; ++tries) {
        OwnDescriptor file([&] {
            return open_retrying(result.folder_.get(), name,
                                 O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        });
        if (file.get() < 0 && (errno == ELOOP || errno == ENXIO || errno == EISDIR))
            return in_the_way("not a regular file");
        if (file.get() < 0) return status_of_errno(errno, "cannot make", path);
        struct stat info {};
        if (::fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode))
            return in_the_way("not a regular file");
        const int error = lock(file.get());
        const std::string text = printable_text(file.get());
        const bool is_short = info.st_size <= static_cast<off_t>(most_text_bytes);
        const bool is_ours = text.empty() ? is_short : text.starts_with(magic);
        if (error != 0 && is_without_locks(error)) {
            if (info.st_size == 0) (void)::unlinkat(result.folder_.get(), name, 0);
            return result;
        }
        if (error != 0 && error != EAGAIN && error != EACCES)
            return status_of_errno(error, "cannot lock", path);
        if (error != 0) {
            const std::string owner =
                is_ours && !text.empty() ? text.substr(magic.size()) : "another process";
            return Status(ErrorCode::exists, std::string(whose) + ": in use by " + owner + " (" + path + ")");
        }
        if (!has_name(file.get(), result.folder_.get(), name)) continue;  // 2
        if (!is_ours) return in_the_way("not a lock of Hakobi's");
        if (!text.empty()) result.left_by_ = text.substr(magic.size());
        // For people only: the lock holds where the disk is full, too.
        const std::string own = own_text();
        const bool is_empty = ::ftruncate(file.get(), 0) == 0;
        if (is_empty && ::pwrite(file.get(), own.data(), own.size(), 0) < 0) errno = 0;
        result.file_ = std::move(file);
        return result;
    }
    return Status(ErrorCode::exists,
                  std::string(whose) + ": other processes keep acquiring and releasing " + path);
}

void LockFile::release() noexcept {
    if (file_.get() < 0) return;
    if (has_name(file_.get(), folder_.get(), name_.c_str()))
        (void)::unlinkat(folder_.get(), name_.c_str(), 0);
    file_ = OwnDescriptor();
    folder_ = OwnDescriptor();
}

}  // namespace hakobi::storage
