// libc's blocking file calls, each followed by the rest of its modelled time.
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdlib>

#include "interpose_layout.hpp"
#include "model.hpp"

using hakobi::storage_model::forget;
using hakobi::storage_model::Transfer;

#define EXPORT extern "C" __attribute__((visibility("default")))

namespace {

/// Where a transfer of `length` bytes by the file's position began; also right for O_APPEND.
std::int64_t begin_of(int fd, ssize_t length) {
    const hakobi::storage_model::KeepErrno keep;
    return ::lseek64(fd, 0, SEEK_CUR) - length;
}

/// After a call that moved the file's position.
ssize_t wait_at_position(const Transfer& transfer, int fd, ssize_t length) {
    if (transfer.is_modelled() && length >= 0) transfer.wait(begin_of(fd, length), length);
    return length;
}

ssize_t wait_at(const Transfer& transfer, off64_t offset, ssize_t length) {
    transfer.wait(offset, length);
    return length;
}

bool has_mode(int flags) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
}

}  // namespace

// By the file's position.

EXPORT ssize_t read(int fd, void* data, size_t length) {
    const Transfer transfer(fd, false);
    return wait_at_position(transfer, fd, HAKOBI_NEXT(read, fd, data, length));
}
EXPORT ssize_t write(int fd, const void* data, size_t length) {
    const Transfer transfer(fd, true);
    return wait_at_position(transfer, fd, HAKOBI_NEXT(write, fd, data, length));
}
EXPORT ssize_t readv(int fd, const iovec* parts, int count) {
    const Transfer transfer(fd, false);
    return wait_at_position(transfer, fd, HAKOBI_NEXT(readv, fd, parts, count));
}
EXPORT ssize_t writev(int fd, const iovec* parts, int count) {
    const Transfer transfer(fd, true);
    return wait_at_position(transfer, fd, HAKOBI_NEXT(writev, fd, parts, count));
}

// By an offset. The names with and without 64 are separate symbols.

#define READ_AT(name, type)                                                            \
    EXPORT ssize_t name(int fd, void* data, size_t length, type offset) {              \
        const Transfer transfer(fd, false);                                            \
        return wait_at(transfer, offset, HAKOBI_NEXT(name, fd, data, length, offset)); \
    }
#define WRITE_AT(name, type)                                                           \
    EXPORT ssize_t name(int fd, const void* data, size_t length, type offset) {        \
        const Transfer transfer(fd, true);                                             \
        return wait_at(transfer, offset, HAKOBI_NEXT(name, fd, data, length, offset)); \
    }
#define VECTOR_AT(name, type, is_write)                                                \
    EXPORT ssize_t name(int fd, const iovec* parts, int count, type offset) {          \
        const Transfer transfer(fd, is_write);                                         \
        return wait_at(transfer, offset, HAKOBI_NEXT(name, fd, parts, count, offset)); \
    }
// Offset -1 stands for the file's position.
#define VECTOR2_AT(name, type, is_write)                                                 \
    EXPORT ssize_t name(int fd, const iovec* parts, int count, type offset, int flags) { \
        const Transfer transfer(fd, is_write);                                           \
        const ssize_t length = HAKOBI_NEXT(name, fd, parts, count, offset, flags);       \
        if (offset == -1) return wait_at_position(transfer, fd, length);                 \
        return wait_at(transfer, offset, length);                                        \
    }

READ_AT(pread, off_t)
READ_AT(pread64, off64_t)
WRITE_AT(pwrite, off_t)
WRITE_AT(pwrite64, off64_t)
VECTOR_AT(preadv, off_t, false)
VECTOR_AT(preadv64, off64_t, false)
VECTOR_AT(pwritev, off_t, true)
VECTOR_AT(pwritev64, off64_t, true)
VECTOR2_AT(preadv2, off_t, false)
VECTOR2_AT(preadv64v2, off64_t, false)
VECTOR2_AT(pwritev2, off_t, true)
VECTOR2_AT(pwritev64v2, off64_t, true)

// Functions that programs built with _FORTIFY_SOURCE call instead. A length beyond `capacity` ends the
// program in libc.

extern "C" {
ssize_t __read_chk(int fd, void* data, size_t length, size_t capacity);
ssize_t __pread_chk(int fd, void* data, size_t length, off_t offset, size_t capacity);
ssize_t __pread64_chk(int fd, void* data, size_t length, off64_t offset, size_t capacity);
int __open_2(const char* path, int flags);
int __open64_2(const char* path, int flags);
int __openat_2(int folder, const char* path, int flags);
int __openat64_2(int folder, const char* path, int flags);
}

EXPORT ssize_t __read_chk(int fd, void* data, size_t length, size_t capacity) {
    const Transfer transfer(fd, false);
    return wait_at_position(transfer, fd, HAKOBI_NEXT(__read_chk, fd, data, length, capacity));
}
EXPORT ssize_t __pread_chk(int fd, void* data, size_t length, off_t offset, size_t capacity) {
    const Transfer transfer(fd, false);
    return wait_at(transfer, offset, HAKOBI_NEXT(__pread_chk, fd, data, length, offset, capacity));
}
EXPORT ssize_t __pread64_chk(int fd, void* data, size_t length, off64_t offset, size_t capacity) {
    const Transfer transfer(fd, false);
    return wait_at(transfer, offset, HAKOBI_NEXT(__pread64_chk, fd, data, length, offset, capacity));
}

// Calls that give a descriptor another file.

namespace {
int fresh(int fd, int flags = 0) {
    forget(fd);
    hakobi::storage_model::made(fd, flags);
    return fd;
}
}  // namespace

#define OPEN(name)                                                       \
    EXPORT int name(const char* path, int flags, ...) {                  \
        va_list list;                                                    \
        va_start(list, flags);                                           \
        const mode_t mode = has_mode(flags) ? va_arg(list, mode_t) : 0U; \
        va_end(list);                                                    \
        return fresh(HAKOBI_NEXT(name, path, flags, mode), flags);       \
    }
#define OPENAT(name)                                                       \
    EXPORT int name(int folder, const char* path, int flags, ...) {        \
        va_list list;                                                      \
        va_start(list, flags);                                             \
        const mode_t mode = has_mode(flags) ? va_arg(list, mode_t) : 0U;   \
        va_end(list);                                                      \
        return fresh(HAKOBI_NEXT(name, folder, path, flags, mode), flags); \
    }

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

EXPORT int __open_2(const char* path, int flags) {
    return fresh(HAKOBI_NEXT(__open_2, path, flags));
}
EXPORT int __open64_2(const char* path, int flags) {
    return fresh(HAKOBI_NEXT(__open64_2, path, flags));
}
EXPORT int __openat_2(int folder, const char* path, int flags) {
    return fresh(HAKOBI_NEXT(__openat_2, folder, path, flags));
}
EXPORT int __openat64_2(int folder, const char* path, int flags) {
    return fresh(HAKOBI_NEXT(__openat64_2, folder, path, flags));
}
EXPORT int creat(const char* path, mode_t mode) {
    return fresh(HAKOBI_NEXT(creat, path, mode));
}
EXPORT int creat64(const char* path, mode_t mode) {
    return fresh(HAKOBI_NEXT(creat64, path, mode));
}
EXPORT int dup(int fd) noexcept {
    return fresh(HAKOBI_NEXT(dup, fd));
}
EXPORT int dup2(int from, int to) noexcept {
    return fresh(HAKOBI_NEXT(dup2, from, to));
}
EXPORT int dup3(int from, int to, int flags) noexcept {
    return fresh(HAKOBI_NEXT(dup3, from, to, flags));
}
EXPORT int close(int fd) {
    forget(fd);  // before: afterwards the number may be another thread's file
    return HAKOBI_NEXT(close, fd);
}

// Shells and forked children end without running destructors.

EXPORT void _exit(int status) {
    hakobi::storage_model::leave();
    HAKOBI_NEXT(_exit, status);
    __builtin_unreachable();
}
EXPORT void _Exit(int status) noexcept {
    hakobi::storage_model::leave();
    HAKOBI_NEXT(_Exit, status);
    __builtin_unreachable();
}
