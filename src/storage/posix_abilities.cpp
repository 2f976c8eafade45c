#include "storage/posix_abilities.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

#include "storage/posix_layout.hpp"

namespace hakobi::storage {

namespace {

/// linux/magic.h and the file systems' own sources.
constexpr unsigned long nfs_magic = 0x6969, smb2_magic = 0xFE534D42, cifs_magic = 0xFF534D42;
/// Caches hold and write back pages.
constexpr std::int64_t page_bytes = 4096;

std::vector<std::string_view> words_in(std::string_view line) {
    std::vector<std::string_view> words;
    while (!line.empty()) {
        const std::size_t end = std::min(line.find_first_of(" ,"), line.size());
        if (end > 0) words.push_back(line.substr(0, end));
        line.remove_prefix(std::min(end + 1, line.size()));
    }
    return words;
}

std::string mount_line_of(int fd) {
    struct stat file {};
    if (::fstat(fd, &file) != 0) return {};
    std::string device(1, ' ');
    device.append(std::to_string(major(file.st_dev))).append(":");
    device.append(std::to_string(minor(file.st_dev))).append(" ");
    std::ifstream mounts("/proc/self/mountinfo");
    for (std::string line; std::getline(mounts, line);)
        if (line.find(device) != std::string::npos) return line;
    return {};
}

}  // namespace

Abilities shared_abilities(long magic, std::string_view mountinfo_line) {
    const std::vector<std::string_view> words = words_in(mountinfo_line);
    const auto has_any = [&words](std::initializer_list<std::string_view> wanted) {
        return std::ranges::find_first_of(words, wanted) != words.end();
    };
    Abilities found;
    found.locks_ranges = !words.empty() && !has_any({"nolock", "local_lock=all", "local_lock=posix",
                                                     "localflock", "noflock", "nobrl", "forcenolock"});
    switch (static_cast<unsigned long>(magic) & 0xFFFFFFFFUL) {
        case nfs_magic:
            found.file_system = "nfs";
            found.writer_block_bytes = page_bytes;
            break;
        case smb2_magic:
        case cifs_magic:
            found.file_system = "smb";
            // Under cache=strict a node that has company has no lease, and caches nothing.
            if (words.empty() || has_any({"cache=loose", "cache=ro", "cache=singleclient"}))
                found.writer_block_bytes = page_bytes;
            break;
        case lustre_magic:
            found.file_system = "lustre";
            break;
        case cephfs_magic:
            found.file_system = "cephfs";
            break;
        case fuse_magic:
            if (has_any({"fuseblk"})) {  // of this machine
                found.locks_ranges = true;
                break;
            }
            found.file_system = "fuse";
            // Whether its kernel side writes pages back, and whether locks leave the node, no mount option
            // tells.
            found.writer_block_bytes = page_bytes;
            found.locks_ranges = has_any({"fuse.glusterfs", "fuse.ceph"});
            break;
        default:
            found.locks_ranges = true;
    }
    return found;
}

PosixStorage look_at(int fd) {
    struct statfs system {};
    if (::fstatfs(fd, &system) != 0) return {};
    PosixStorage found{{}, posix_layout(fd, system)};
    // One of this machine needs no look at the mounts.
    Abilities& abilities = found.abilities;
    abilities = shared_abilities(system.f_type, {});
    if (!abilities.file_system.empty()) abilities = shared_abilities(system.f_type, mount_line_of(fd));
    if (found.layout.is_striped()) {
        abilities.stripe_bytes = found.layout.stripe_bytes();
    } else if (system.f_bsize > 0) {
        abilities.stripe_bytes = static_cast<std::int64_t>(system.f_bsize);
    }
    abilities.locks_ranges = abilities.locks_ranges && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
    return found;
}

bool is_mounted_whole(int fd) {
    const std::string line = mount_line_of(fd);
    const std::vector<std::string_view> words = words_in(line);
    constexpr std::size_t root = 3;
    return words.size() > root && words[root] == "/";
}

bool is_on_nfs(int fd) {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && magic_of(system) == nfs_magic;
}

void pass_cache(int fd, Abilities& abilities) {
    if (abilities.file_system != "nfs") return;
    const int flags = ::fcntl(fd, F_GETFL);
    if (flags < 0 || ::fcntl(fd, F_SETFL, flags | O_DIRECT) != 0) return;
    abilities.passes_cache = true;
    abilities.writer_block_bytes = 1;
}

std::string words_of(const Abilities& abilities) {
    std::string text(abilities.file_system.empty() ? "a file system of this machine" : abilities.file_system);
    if (abilities.passes_cache) text += ", past the node's cache";
    text += "; blocks of " + std::to_string(abilities.stripe_bytes) + " bytes";
    if (abilities.writer_block_bytes > 1)
        text += "; nodes may not write to one block of " + std::to_string(abilities.writer_block_bytes) +
                " bytes at once";
    text += abilities.locks_ranges ? "; locks hold between nodes"
                                   : "; no locks between nodes: holes are not filled";
    return text;
}

}  // namespace hakobi::storage
