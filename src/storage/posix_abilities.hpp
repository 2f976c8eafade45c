#pragma once

#include <string_view>

#include "storage/abilities.hpp"
#include "storage/layout.hpp"

namespace hakobi::storage {

struct PosixStorage {
    Abilities abilities;
    Layout layout;
};
/// Determines the abilities of an open file's file system, by statfs, the mount's options and the file's
/// layout, and that layout. Local, no access of the file's bytes.
[[nodiscard]] PosixStorage look_at(int fd);

/// Whether the mount that an open file or folder is in shows its file system from the root on. Local.
[[nodiscard]] bool is_mounted_whole(int fd);

/// Determines how nodes may share one file, by statfs's f_type and the mount's line of /proc/self/mountinfo
/// ("": unknown): file_system, locks_ranges and writer_block_bytes. Pure. Sources: nfs(5) on close-to-open
/// consistency, local_lock and noac; mount.cifs(8) on cache, nobrl and nolock; mount.lustre(8) on localflock
/// and noflock; fuse(4).
[[nodiscard]] Abilities shared_abilities(long magic, std::string_view mountinfo_line);

[[nodiscard]] bool is_on_nfs(int fd);

/// From now on every access of an open file goes past this node's cache, where the file system takes any
/// bytes so (NFS, open(2) on O_DIRECT): nodes may then write to one block at any time, and read what others
/// wrote.
void pass_cache(int fd, Abilities& abilities);

}  // namespace hakobi::storage
