#include "storage/posix_abilities.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace hakobi::storage {

namespace {

/// linux/magic.h and the file systems' own sources.
constexpr unsigned long lustre_magic = 0x0BD00BD0, nfs_magic = 0x6969, smb2_magic = 0xFE534D42,
                        cifs_magic = 0xFF534D42, fuse_magic = 0x65735546;
/// Caches hold and write back pages.
constexpr std::int64_t page_bytes = 4096;

/// Of statfs, where it may be sign-extended.
unsigned long magic_of(long f_type) {
    return static_cast<unsigned long>(f_type) & 0xFFFFFFFFUL;
}

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

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::int64_t preferred_bytes(int fd, const struct statfs& system) {
    if (magic_of(system.f_type) == lustre_magic) {
        std::vector<std::byte> layout(65536);
        const ssize_t length = ::fgetxattr(fd, "lustre.lov", layout.data(), layout.size());
        if (length > 0) {
            const std::int64_t stripe =
                lustre_stripe_bytes(std::span(layout).first(static_cast<std::size_t>(length)));
            if (stripe > 0) return stripe;
        }
    }
    return system.f_bsize > 0 ? static_cast<std::int64_t>(system.f_bsize) : Abilities().stripe_bytes;
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
    switch (magic_of(magic)) {
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
        case fuse_magic:
            if (has_any({"fuseblk"})) {  // of this machine
                found.locks_ranges = true;
                break;
            }
            found.file_system = "fuse";
            // Whether its kernel side writes pages back, and whether locks leave the node, no mount option tells.
            found.writer_block_bytes = page_bytes;
            found.locks_ranges = has_any({"fuse.glusterfs", "fuse.ceph"});
            break;
        default:
            found.locks_ranges = true;
    }
    return found;
}

Abilities abilities_of(int fd) {
    struct statfs system {};
    if (::fstatfs(fd, &system) != 0) return {};
    // One of this machine needs no look at the mounts.
    Abilities abilities = shared_abilities(system.f_type, {});
    if (!abilities.file_system.empty()) abilities = shared_abilities(system.f_type, mount_line_of(fd));
    abilities.stripe_bytes = preferred_bytes(fd, system);
    abilities.locks_ranges = abilities.locks_ranges && (::fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
    return abilities;
}

bool is_on_nfs(int fd) {
    struct statfs system {};
    return ::fstatfs(fd, &system) == 0 && magic_of(system.f_type) == nfs_magic;
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

// Lustre's user interface, struct lov_user_md_v1/v3 and lov_comp_md_v1 (lustre_user.h); little-endian on disk
// and here.
std::int64_t lustre_stripe_bytes(std::span<const std::byte> layout) {
    constexpr std::uint32_t magic_v1 = 0x0BD10BD0, magic_v3 = 0x0BD30BD0, magic_composite = 0x0BD60BD0;
    constexpr std::size_t stripe_size_at = 24;
    constexpr std::size_t composite_header_bytes = 32, composite_entry_bytes = 48, entry_count_at = 14,
                          entry_offset_at = 24;
    switch (value_at<std::uint32_t>(layout, 0)) {
        case magic_v1:
        case magic_v3:
            return value_at<std::uint32_t>(layout, stripe_size_at);
        case magic_composite: {
            const auto num_entries = value_at<std::uint16_t>(layout, entry_count_at);
            if (num_entries == 0) return 0;
            const std::size_t last = composite_header_bytes + (num_entries - 1U) * composite_entry_bytes;
            const std::size_t component = value_at<std::uint32_t>(layout, last + entry_offset_at);
            if (component == 0 || component >= layout.size()) return 0;
            const auto inner = layout.subspan(component);
            const auto magic = value_at<std::uint32_t>(inner, 0);
            return magic == magic_v1 || magic == magic_v3 ? value_at<std::uint32_t>(inner, stripe_size_at)
                                                          : 0;
        }
        default:
            return 0;
    }
}

}  // namespace hakobi::storage
