// How a new file gets its layout:
//
// 1. It is made exclusively, on Lustre without objects, so that nobody can have written to it.
// 2. The layout is set: by an ioctl (Lustre), by an attribute (CephFS).
// 3. It is closed. Whoever opens it now finds the layout, or, if that was refused, makes the objects of the
//    folder's.
#include "storage/posix_layout.hpp"

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <ctime>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"
#include "storage/ceph_layout.hpp"
#include "storage/lustre_layout.hpp"
#include "storage/posix_abilities.hpp"

namespace hakobi::storage {
namespace {

std::optional<std::vector<std::byte>> attribute_of(int fd, const char* name) {
    std::vector<std::byte> value(4096);
    ssize_t length = ::fgetxattr(fd, name, value.data(), value.size());
    if (length < 0 && errno == ERANGE) {
        length = ::fgetxattr(fd, name, nullptr, 0);
        if (length < 0) return std::nullopt;
        value.resize(static_cast<std::size_t>(length));
        length = ::fgetxattr(fd, name, value.data(), value.size());
    }
    if (length < 0) return std::nullopt;
    value.resize(static_cast<std::size_t>(length));
    return value;
}

std::string_view text_of(const std::vector<std::byte>& value) {
    return {reinterpret_cast<const char*>(value.data()), value.size()};
}

enum class FileSystem { none, lustre, cephfs };

/// Among files on FUSE only CephFS's have its attribute.
FileSystem kind_of(const struct statfs& system) {
    const unsigned long magic = magic_of(system);
    if (magic == lustre_magic) return FileSystem::lustre;
    return magic == cephfs_magic || magic == fuse_magic ? FileSystem::cephfs : FileSystem::none;
}

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

Descriptor parent_of(int folder) {
    return Descriptor(::openat(folder, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

bool is_same_mount(int folder, int other) {
    struct stat one {
    }, two{};
    return ::fstat(folder, &one) == 0 && ::fstat(other, &two) == 0 && one.st_dev == two.st_dev &&
           one.st_ino != two.st_ino;  // the root is its own parent
}

/// The uppermost folder of the file system's mount that `folder` is in.
Descriptor top_of(int folder) {
    Descriptor top(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (;;) {
        Descriptor parent = parent_of(top.get());
        if (parent.get() < 0 || !is_same_mount(top.get(), parent.get())) return top;
        top = std::move(parent);
    }
}

/// A folder below the top has a copy of its parent's layout from when it was made. Where what is mounted is
/// not the whole file system, its default cannot be seen: any layout is then believed to be somebody's.
bool is_own_on_lustre(int folder, const std::vector<std::byte>& value) {
    if (!is_mounted_whole(folder)) return true;
    const auto at_top = attribute_of(top_of(folder).get(), lustre::attribute);
    return !at_top || *at_top != value;
}

LayoutFacts lustre_facts(int folder) {
    LayoutFacts facts{.file_system = "lustre",
                      .unit_bytes = lustre::unit_bytes,
                      .overstripes = true,
                      .has_first_server = true};
    int count = 0;  // in: of what holds data
    if (::ioctl(folder, lustre::count_servers_request, &count) == 0 && count > 0) facts.num_servers = count;
    facts.of_folder = Layout::plain({lustre::default_stripe_bytes, 1});
    if (const auto value = attribute_of(folder, lustre::attribute)) {
        const Layout found = lustre::layout_of(*value, facts.num_servers);
        if (found.is_striped()) facts.of_folder = found;
        facts.is_folders_own = is_own_on_lustre(folder, *value);
    }
    return facts;
}

/// Files that are made inherit from the nearest folder that has a layout; the root has one that nobody has
/// chosen.
LayoutFacts cephfs_facts(int folder) {
    const Layout chosen_by_nobody = Layout::plain({.stripe_bytes = ceph::default_object_bytes,
                                                   .num_stripes = 1,
                                                   .object_bytes = ceph::default_object_bytes});
    LayoutFacts facts{.file_system = "cephfs",
                      .of_folder = chosen_by_nobody,
                      .unit_bytes = ceph::unit_bytes,
                      .spreads_objects = true};
    Descriptor at(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (;;) {
        if (const auto value = attribute_of(at.get(), ceph::folder_attribute)) {
            const Layout found = ceph::layout_of(text_of(*value));
            if (found.is_striped()) facts.of_folder = found;
            facts.is_folders_own = facts.of_folder != chosen_by_nobody;
            return facts;
        }
        Descriptor parent = parent_of(at.get());
        if (parent.get() < 0 || !is_same_mount(at.get(), parent.get())) return facts;
        at = std::move(parent);
    }
}

/// Whether a folder on FUSE is CephFS's: its folders count what is below them.
bool is_cephfs(int folder, const struct statfs& system) {
    return magic_of(system) == cephfs_magic || ::fgetxattr(folder, "ceph.dir.entries", nullptr, 0) >= 0;
}

struct Folder {
    Descriptor fd;
    FileSystem kind = FileSystem::none;
};

Folder open_folder(const std::string& path) {
    Folder folder{Descriptor(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC))};
    struct statfs system {};
    if (folder.fd.get() < 0 || ::fstatfs(folder.fd.get(), &system) != 0) return folder;
    folder.kind = kind_of(system);
    if (folder.kind == FileSystem::cephfs && !is_cephfs(folder.fd.get(), system))
        folder.kind = FileSystem::none;
    return folder;
}

/// Lustre puts stripes on as many servers as it has: those of a wish for fewer are named, from its first or,
/// so that not all files begin with the same one, from any. None: Lustre chooses.
std::vector<int> named_servers(const LayoutWish& wish, int num_servers) {
    std::vector<int> servers;
    if (!wish.overstripes || wish.num_servers <= 0 || wish.num_servers >= num_servers) return servers;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const int first =
        wish.first_server >= 0 ? wish.first_server : static_cast<int>(now.tv_nsec / 64 % num_servers);
    for (int i = 0; i < wish.num_stripes; ++i)
        servers.push_back((first + i % wish.num_servers) % num_servers);
    return servers;
}

/// 0, or what the storage said.
int set_on_lustre(int fd, int folder, const LayoutWish& wish) {
    const auto ask = [&](std::span<const int> servers) {
        std::vector<std::byte> request = lustre::request_of(wish, servers);
        return ::ioctl(fd, lustre::set_layout_request, request.data()) == 0 ? 0 : errno;
    };
    const std::vector<int> servers = named_servers(wish, lustre_facts(folder).num_servers);
    // One of them may be down, or full.
    return !servers.empty() && ask(servers) == 0 ? 0 : ask({});
}

int set_layout(int fd, FileSystem kind, int folder, const LayoutWish& wish) {
    if (kind == FileSystem::lustre) return set_on_lustre(fd, folder, wish);
    const std::string value = ceph::value_of(wish, cephfs_facts(folder).of_folder);
    return ::fsetxattr(fd, ceph::file_attribute, value.data(), value.size(), 0) == 0 ? 0 : errno;
}

}  // namespace

Layout posix_layout(int fd, const struct statfs& system) {
    switch (kind_of(system)) {
        case FileSystem::lustre:
            if (const auto value = attribute_of(fd, lustre::attribute)) return lustre::layout_of(*value);
            break;
        case FileSystem::cephfs:
            if (const auto value = attribute_of(fd, ceph::file_attribute))
                return ceph::layout_of(text_of(*value));
            break;
        case FileSystem::none:
            break;
    }
    return {};
}

Layout posix_layout_at(const std::string& path) {
    struct statfs system {};
    if (::statfs(path.c_str(), &system) != 0 || kind_of(system) == FileSystem::none) return {};
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
    return file.get() >= 0 ? posix_layout(file.get(), system) : Layout();
}

LayoutFacts posix_layout_facts(const std::string& path) {
    const Folder folder = open_folder(path);
    switch (folder.kind) {
        case FileSystem::lustre:
            return lustre_facts(folder.fd.get());
        case FileSystem::cephfs:
            return cephfs_facts(folder.fd.get());
        case FileSystem::none:
            break;
    }
    return {};
}

LaidOut make_laid_out_posix(const std::string& path, const LayoutWish& wish) {
    LaidOut made;
    const Folder folder = open_folder(path);
    if (folder.kind == FileSystem::none) {
        made.refused = {ErrorCode::unsupported, path + ": this storage has no layouts to choose"};
        return made;
    }
    const int flags = O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC |
                      (folder.kind == FileSystem::lustre ? lustre::open_without_layout : 0);
    int fd = -1;
    do {
        fd = ::open(path.c_str(), flags, 0666);
    } while (fd < 0 && errno == EINTR);
    const Descriptor file(fd);
    made.is_made = file.get() >= 0;
    const int error = made.is_made ? set_layout(file.get(), folder.kind, folder.fd.get(), wish) : errno;
    if (error != 0)
        made.refused = status_of_errno(error, made.is_made ? "cannot lay out" : "cannot make", path);
    return made;
}

}  // namespace hakobi::storage
