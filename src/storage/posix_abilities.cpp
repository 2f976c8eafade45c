#include "storage/posix_abilities.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

namespace hakobi::storage {

namespace {

/// linux/magic.h and the file systems' own sources.
constexpr long lustre_magic = 0x0BD00BD0, nfs_magic = 0x6969, smb2_magic = 0xFE534D42,
               cifs_magic = 0xFF534D42;

std::string_view name_of(long magic) {
    switch (magic) {
        case lustre_magic:
            return "lustre";
        case nfs_magic:
            return "nfs";
        case smb2_magic:
        case cifs_magic:
            return "smb";
        default:
            return {};
    }
}

template <class T>
T value_at(std::span<const std::byte> bytes, std::size_t offset) {
    T value{};
    if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
}

std::int64_t preferred_bytes(int fd, const struct statfs& system) {
    if (system.f_type == lustre_magic) {
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

/// Whether a range of the file can be read and written under a lock that other nodes' processes honour. Network file
/// systems may be mounted so that locks stay on the node, or mean nothing: their mount options say so.
bool are_locks_honoured(int fd, bool is_of_network) {
    if ((::fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDWR) return false;
    if (!is_of_network) return true;
    struct stat file {};
    if (::fstat(fd, &file) != 0) return false;
    std::ifstream mounts("/proc/self/mountinfo");
    std::string device(1, ' ');
    device.append(std::to_string(major(file.st_dev))).append(":");
    device.append(std::to_string(minor(file.st_dev))).append(" ");
    for (std::string line; std::getline(mounts, line);) {
        if (line.find(device) != std::string::npos) return mount_honours_locks(line);
    }
    return false;
}

}  // namespace

Abilities abilities_of(int fd) {
    Abilities abilities;
    struct statfs system {};
    if (::fstatfs(fd, &system) != 0) return abilities;
    abilities.file_system = name_of(static_cast<long>(system.f_type));
    abilities.stripe_bytes = preferred_bytes(fd, system);
    abilities.locks_ranges = are_locks_honoured(fd, !abilities.file_system.empty());
    return abilities;
}

bool mount_honours_locks(std::string_view mountinfo_line) {
    // nfs(5): local_lock, nolock; mount.lustre: localflock, noflock; mount.cifs(8): nobrl, nolock.
    constexpr std::array<std::string_view, 7> without = {
        "nolock", "local_lock=all", "local_lock=posix", "localflock", "noflock", "nobrl", "forcenolock"};
    while (!mountinfo_line.empty()) {
        const std::size_t end = std::min(mountinfo_line.find_first_of(" ,"), mountinfo_line.size());
        if (std::ranges::find(without, mountinfo_line.substr(0, end)) != without.end()) return false;
        mountinfo_line.remove_prefix(std::min(end + 1, mountinfo_line.size()));
    }
    return true;
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
