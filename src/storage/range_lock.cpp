#include "storage/range_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cassert>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "base/thread.hpp"
#include "storage/lock_file.hpp"

namespace hakobi::storage {
namespace {

std::string path_of(int descriptor) {
    std::array<char, 4096> path{};
    const std::string name = "/proc/self/fd/" + std::to_string(descriptor);
    return ::readlink(name.c_str(), path.data(), path.size() - 1) > 0 ? path.data() : "a file";
}

/// Says who holds the lock that another thread waits for. False where it is one of ours, whose holder ends by
/// itself, or has just been given back.
bool tell_holder(int descriptor, struct flock wanted) {
    if (change_lock(descriptor, F_OFD_GETLK, wanted) != 0 || wanted.l_type == F_UNLCK) return false;
    if (wanted.l_start >= shadow_bytes) return false;
    const std::string holder = wanted.l_pid > 0    ? "process " + std::to_string(wanted.l_pid)
                               : wanted.l_pid == 0 ? "a process of another node"
                                                   : "a process that the system does not name";
    std::fprintf(stderr, "hakobi: %s: a write waits for a lock that %s holds\n", path_of(descriptor).c_str(),
                 holder.c_str());
    return true;
}

/// While one exists a thread looks now and then who holds the lock, until it has told.
class Watching {
  public:
    Watching(int descriptor, const struct flock& wanted, double after_s) {
        const CoreSet cores = own_cores();
        thread_ = start_thread("hakobi-lock", cores, [this, descriptor, wanted, after_s] {
            std::unique_lock lock(mutex_);
            const std::chrono::duration<double> pause(after_s);
            while (!changed_.wait_for(lock, pause, [&] { return is_over_; }))
                if (tell_holder(descriptor, wanted)) return;
        });
    }
    ~Watching() {
        {
            const std::scoped_lock lock(mutex_);
            is_over_ = true;
        }
        changed_.notify_all();
        if (thread_) thread_->join();
    }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    bool is_over_ = false;
    std::optional<std::thread> thread_;
};

/// 0 or errno; waits for others. A length of 0 reaches to the end of all offsets.
int change(int descriptor, short type, std::int64_t offset, std::int64_t length,
           double after_s = default_tell_after_s) {
    struct flock lock = lock_on(type, offset, length);
    const int error = change_lock(descriptor, F_OFD_SETLK, lock);
    if (error != EAGAIN && error != EACCES) return error;
    const Watching watching(descriptor, lock, after_s);
    return change_lock(descriptor, F_OFD_SETLKW, lock);
}

Status status_of(int error) {
    if (error == 0) return {};
    const bool is_refused = is_without_locks(error) || error == EBADF || error == EOVERFLOW;
    return {is_refused ? ErrorCode::unsupported : ErrorCode::io,
            std::string("cannot lock a range of the file: ") + std::strerror(error)};
}

}  // namespace

struct flock lock_on(short type, std::int64_t offset, std::int64_t length) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = offset;
    lock.l_len = length;
    return lock;
}

int change_lock(int descriptor, int command, struct flock& lock) {
    while (::fcntl(descriptor, command, &lock) != 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

int find_write_lock(int descriptor, std::int64_t offset, std::int64_t length, std::int64_t least_offset,
                    struct flock& found) {
    assert(length > 0);
    const std::int64_t end = offset + length;
    while (offset < end) {
        found = lock_on(F_RDLCK, offset, end - offset);  // which other readers' locks do not meet
        if (change_lock(descriptor, F_OFD_GETLK, found) != 0) return -1;
        if (found.l_type == F_UNLCK) return 0;
        if (found.l_start >= least_offset && found.l_len > 0) return 1;
        if (found.l_len == 0 || found.l_start + found.l_len <= offset) return 0;
        offset = found.l_start + found.l_len;
    }
    return 0;
}

Status lock_to_fill(int descriptor, std::int64_t offset, std::int64_t length, double tell_after_s) {
    assert(length > 0);  // 0 reaches to the end of all offsets, and over the shadow
    // In this order: a writer holds the shadow when ROMIO comes to lock a range for it. Who holds a range
    // never waits for the shadow.
    if (const int error = change(descriptor, F_WRLCK, offset + shadow_bytes, length, tell_after_s);
        error != 0)
        return status_of(error);
    const int error = change(descriptor, F_WRLCK, offset, length, tell_after_s);
    if (error != 0) (void)change(descriptor, F_UNLCK, offset + shadow_bytes, length);
    return status_of(error);
}

Status unlock_filled(int descriptor, std::int64_t offset, std::int64_t length) {
    const int of_range = change(descriptor, F_UNLCK, offset, length);
    const int of_shadow = change(descriptor, F_UNLCK, offset + shadow_bytes, length);
    return status_of(of_range != 0 ? of_range : of_shadow);
}

WriterLock::WriterLock(int descriptor) : descriptor_(descriptor) {
    if (descriptor_ >= 0 && change(descriptor_, F_RDLCK, shadow_bytes, 0) != 0) descriptor_ = -1;
}

WriterLock::~WriterLock() {
    if (descriptor_ >= 0) (void)change(descriptor_, F_UNLCK, shadow_bytes, 0);
}

}  // namespace hakobi::storage
