/* A Lustre for tests, preloaded: what is below FAKE_LUSTRE_ROOT says that it is on one. It stores bytes where
 * they are and keeps, in files of FAKE_LUSTRE_STATE, a layout for each file (layout.INODE, a value of
 * lustre.lov) and what was asked (log, a line each).
 *
 *   FAKE_LUSTRE_SERVERS   how many servers it has; 4
 *   FAKE_LUSTRE_REFUSES   the errno with which it refuses every layout
 *   FAKE_LUSTRE_RACES     the file of that name is made by somebody else just before it is made exclusively here
 *   state/default         the file system's default layout: a value of lustre.lov. folder.INODE: a folder's own
 *
 * As on the real one a file that is made without O_LOV_DELAY_CREATE has objects from then on, and one that
 * was made with it gets them from the ioctl, or by the next open for writing. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

enum {
    magic_of_lustre = 0x0BD00BD0,
    delays_layout = 0100000000,
    set_layout = 0x4008669A,
    head_bytes = 32,
    object_bytes = 24,
    most_bytes = 65536
};
static const unsigned long count_servers = 0x800866A8;
static const uint32_t magic_v1 = 0x0BD10BD0, magic_named = 0x0BD50BD0;

#define NEXT(name) (__extension__(__typeof__(&name)) dlsym(RTLD_NEXT, #name))

static int number_of_servers(void) {
    const char* text = getenv("FAKE_LUSTRE_SERVERS");
    return text != NULL ? atoi(text) : 4;
}

static int is_below(const char* path) {
    const char* root = getenv("FAKE_LUSTRE_ROOT");
    if (root == NULL || getenv("FAKE_LUSTRE_STATE") == NULL) return 0;
    const size_t length = strlen(root);
    return strncmp(path, root, length) == 0 && (path[length] == '/' || path[length] == '\0');
}

static int is_fd_below(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return 0;
    path[length] = '\0';
    return is_below(path);
}

/* The folders above the root are taken for the top of its mount. */
static int is_fd_above(int fd) {
    char link[64], path[4096];
    const char* root = getenv("FAKE_LUSTRE_ROOT");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0 || root == NULL || getenv("FAKE_LUSTRE_STATE") == NULL) return 0;
    return strncmp(path, root, (size_t)length) == 0 && (length == 1 || root[length] == '/');
}

static int is_path_below(const char* path) {
    char real[4096];
    if (realpath(path, real) != NULL) return is_below(real);
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", path);
    char* slash = strrchr(folder, '/');
    if (slash == NULL)
        strcpy(folder, ".");
    else
        *slash = '\0';
    return realpath(folder[0] != '\0' ? folder : "/", real) != NULL && is_below(real);
}

static void state_path(char* path, size_t size, const char* kind, unsigned long inode) {
    if (inode != 0)
        snprintf(path, size, "%s/%s.%lu", getenv("FAKE_LUSTRE_STATE"), kind, inode);
    else
        snprintf(path, size, "%s/%s", getenv("FAKE_LUSTRE_STATE"), kind);
}

static void note(const char* what, int fd, const char* format, ...) {
    char link[64], path[4096], line[5000];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = '\0';
    const char* name = strrchr(path, '/');
    int at = snprintf(line, sizeof line, "%s %s", what, name != NULL ? name + 1 : path);
    va_list values;
    va_start(values, format);
    at += vsnprintf(line + at, sizeof line - (size_t)at, format, values);
    va_end(values);
    line[at++] = '\n';
    state_path(path, sizeof path, "log", 0);
    const int log = NEXT(open)(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (log < 0 || write(log, line, (size_t)at) != at) abort();
    close(log);
}

static ssize_t load(const char* kind, unsigned long inode, unsigned char* value) {
    char path[4096];
    state_path(path, sizeof path, kind, inode);
    const int file = NEXT(open)(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    const ssize_t length = read(file, value, most_bytes);
    close(file);
    return length;
}

static void store(unsigned long inode, const unsigned char* value, size_t length) {
    char path[4096];
    state_path(path, sizeof path, "layout", inode);
    const int file = NEXT(open)(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0 || write(file, value, length) != (ssize_t)length) abort();
    close(file);
}

/* A folder's layout is its own, that of a folder above it, or the file system's. */
static ssize_t folder_layout(int folder, unsigned char* value) {
    struct stat info;
    int at = NEXT(openat)(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t length = -1;
    while (length < 0 && at >= 0 && is_fd_below(at) && fstat(at, &info) == 0) {
        length = load("folder", info.st_ino, value);
        const int above = NEXT(openat)(at, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        close(at);
        at = above;
    }
    if (at >= 0) close(at);
    return length >= 0 ? length : load("default", 0, value);
}

/* 0, or an errno. A request for a plain layout gets its objects; any other value is kept as it is. */
static int make_objects(unsigned long inode, const unsigned char* request, size_t length) {
    unsigned char value[head_bytes + 2000 * object_bytes];
    uint32_t magic, pattern, stripe;
    uint16_t count, first;
    memcpy(&magic, request, 4);
    if (magic != magic_v1 && magic != magic_named) {
        store(inode, request, length);
        return 0;
    }
    memset(value, 0, sizeof value);
    memcpy(value, request, head_bytes);
    memcpy(value, &magic_v1, 4);
    memcpy(&pattern, request + 4, 4);
    memcpy(&stripe, request + 24, 4);
    memcpy(&count, request + 28, 2);
    memcpy(&first, request + 30, 2);
    const int servers = number_of_servers();
    if (pattern == 0) pattern = 1;
    if (stripe == 0) stripe = 1 << 20;
    if (count == 0) count = 1;
    if (count == 0xFFFF) count = (uint16_t)servers;
    if ((pattern & 0x200) == 0 && count > servers) count = (uint16_t)servers;
    if (stripe % 65536 != 0 || count > 2000) return EINVAL;
    if (first != 0xFFFF && first >= servers) return EINVAL;
    if (first == 0xFFFF) first = (uint16_t)(inode % (unsigned long)servers);
    memcpy(value + 4, &pattern, 4);
    memcpy(value + 24, &stripe, 4);
    memcpy(value + 28, &count, 2);
    memset(value + 30, 0, 2);
    for (uint32_t i = 0; i < count; ++i) {
        uint32_t server = (first + i) % (uint32_t)servers;
        if (magic == magic_named) memcpy(&server, request + 48 + i * object_bytes + 20, 4);
        memcpy(value + head_bytes + i * object_bytes + 20, &server, 4);
    }
    store(inode, value, head_bytes + (size_t)count * object_bytes);
    return 0;
}

static void make_default_objects(int fd) {
    static _Thread_local unsigned char value[most_bytes];
    struct stat info;
    char link[64], path[4096];
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || load("layout", info.st_ino, value) >= 0) return;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    const ssize_t end = readlink(link, path, sizeof path - 1);
    path[end > 0 ? end : 0] = '\0';
    *strrchr(path, '/') = '\0';
    const int folder = NEXT(open)(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t length = folder_layout(folder, value);
    close(folder);
    if (length < 0) {
        memset(value, 0, head_bytes);
        memcpy(value, &magic_v1, 4);
        memset(value + 30, 0xFF, 2);
        length = head_bytes;
    }
    (void)make_objects(info.st_ino, value, (size_t)length);
}

static void forget(int fd) {
    struct stat info;
    char path[4096];
    if (fstat(fd, &info) != 0) return;
    state_path(path, sizeof path, "layout", info.st_ino);
    unlink(path);
}

static int opened(int fd, const char* path, int flags, int was_there) {
    if (fd < 0 || !is_fd_below(fd)) return fd;
    const int kept = errno;
    (void)path;
    const int makes = (flags & O_CREAT) != 0 && !was_there;
    if (makes) forget(fd); /* of a file that had the number before */
    if ((flags & delays_layout) != 0)
        note("delayed", fd, "");
    else if (makes || (flags & O_ACCMODE) != O_RDONLY)
        make_default_objects(fd);
    errno = kept;
    return fd;
}

static int open_it(const char* path, int flags, mode_t mode) {
    const int is_ours = getenv("FAKE_LUSTRE_STATE") != NULL && is_path_below(path);
    const char* raced = getenv("FAKE_LUSTRE_RACES");
    const char* name = strrchr(path, '/');
    if (is_ours && raced != NULL && (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL) &&
        strcmp(name != NULL ? name + 1 : path, raced) == 0) {
        const int other = NEXT(open)(path, O_CREAT | O_WRONLY, 0666);
        make_default_objects(other);
        close(other);
    }
    const int was_there = is_ours && access(path, F_OK) == 0;
    const int fd = NEXT(open)(path, flags & ~delays_layout, mode);
    return is_ours ? opened(fd, path, flags, was_there) : fd;
}

static mode_t mode_of(int flags, va_list values) {
    return (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE ? (mode_t)va_arg(values, int) : 0;
}

int open(const char* path, int flags, ...) {
    va_list values;
    va_start(values, flags);
    const mode_t mode = mode_of(flags, values);
    va_end(values);
    return open_it(path, flags, mode);
}

int open64(const char* path, int flags, ...) {
    va_list values;
    va_start(values, flags);
    const mode_t mode = mode_of(flags, values);
    va_end(values);
    return open_it(path, flags, mode);
}

int statfs(const char* path, struct statfs* system) {
    const int error = NEXT(statfs)(path, system);
    if (error == 0 && is_path_below(path)) system->f_type = magic_of_lustre;
    return error;
}
int statfs64(const char* path, struct statfs64* system) {
    const int error = NEXT(statfs64)(path, system);
    if (error == 0 && is_path_below(path)) system->f_type = magic_of_lustre;
    return error;
}
int fstatfs(int fd, struct statfs* system) {
    const int error = NEXT(fstatfs)(fd, system);
    if (error == 0 && is_fd_below(fd)) system->f_type = magic_of_lustre;
    return error;
}
int fstatfs64(int fd, struct statfs64* system) {
    const int error = NEXT(fstatfs64)(fd, system);
    if (error == 0 && is_fd_below(fd)) system->f_type = magic_of_lustre;
    return error;
}

static int lay_out(int fd, const unsigned char* request) {
    static _Thread_local unsigned char value[most_bytes];
    uint32_t pattern, stripe;
    uint16_t count, first;
    memcpy(&pattern, request + 4, 4);
    memcpy(&stripe, request + 24, 4);
    memcpy(&count, request + 28, 2);
    memcpy(&first, request + 30, 2);
    note("set", fd, " pattern=0x%x stripe=%u count=%d first=%d", pattern, stripe, (int)(int16_t)count,
         (int)(int16_t)first);
    struct stat info;
    const char* refuses = getenv("FAKE_LUSTRE_REFUSES");
    int error = refuses != NULL ? atoi(refuses) : 0;
    if (error == 0 && fstat(fd, &info) != 0) error = errno;
    if (error == 0 && load("layout", info.st_ino, value) >= 0) error = EEXIST;
    if (error == 0) error = make_objects(info.st_ino, request, head_bytes);
    errno = error;
    return error == 0 ? 0 : -1;
}

int ioctl(int fd, unsigned long request, ...) {
    va_list values;
    va_start(values, request);
    void* argument = va_arg(values, void*);
    va_end(values);
    if (request == set_layout && is_fd_below(fd)) return lay_out(fd, argument);
    if (request == count_servers && is_fd_below(fd)) {
        *(int*)argument = number_of_servers();
        return 0;
    }
    return NEXT(ioctl)(fd, request, argument);
}

ssize_t fgetxattr(int fd, const char* name, void* value, size_t size) {
    static _Thread_local unsigned char found[most_bytes];
    struct stat info;
    const int is_above = is_fd_above(fd);
    if (strcmp(name, "lustre.lov") != 0 || (!is_above && !is_fd_below(fd)) || fstat(fd, &info) != 0)
        return NEXT(fgetxattr)(fd, name, value, size);
    const ssize_t length = is_above                ? load("default", 0, found)
                           : S_ISDIR(info.st_mode) ? folder_layout(fd, found)
                                                   : load("layout", info.st_ino, found);
    if (length < 0) {
        errno = ENODATA;
        return -1;
    }
    if (size == 0) return length;
    if ((size_t)length > size) {
        errno = ERANGE;
        return -1;
    }
    memcpy(value, found, (size_t)length);
    return length;
}
