#include "storage/range_lock.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cassert>
#include <cerrno>
#include <cstring>
#include <string>

#include "storage/lock_file.hpp"

namespace hakobi::storage {
namespace {

/// 0 or errno; waits for others. A length of 0 reaches to the end of all offsets.
int change(int descriptor, short type, std::int64_t offset, std::int64_t length) {
    struct flock lock = lock_on(type, offset, length);
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

Status lock_to_fill(int descriptor, std::int64_t offset, std::int64_t length) {
    assert(length > 0);  // 0 reaches to the end of all offsets, and over the shadow
    // In this order: a writer holds the shadow when ROMIO comes to lock a range for it. Who holds a range
    // never waits for the shadow.
    if (const int error = change(descriptor, F_WRLCK, offset + shadow_bytes, length); error != 0)
        return status_of(error);
    const int error = change(descriptor, F_WRLCK, offset, length);
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
