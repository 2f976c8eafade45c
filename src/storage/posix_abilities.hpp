#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/abilities.hpp"

namespace hakobi::storage {

/// What the file system of an open file allows: by statfs, the mount's options and the file's layout. Local, no file access.
[[nodiscard]] Abilities abilities_of(int fd);

/// What nodes may do to one file, by statfs's f_type and the mount's line of /proc/self/mountinfo ("": unknown): file_system,
/// locks_ranges and writer_block_bytes. Pure. Sources: nfs(5) on close-to-open consistency, local_lock and noac;
/// mount.cifs(8) on cache, nobrl and nolock; mount.lustre(8) on localflock and noflock; fuse(4).
[[nodiscard]] Abilities shared_abilities(long magic, std::string_view mountinfo_line);

[[nodiscard]] bool is_on_nfs(int fd);

/// From now on every access of an open file goes past this node's cache, where the file system takes any bytes so (NFS,
/// open(2) on O_DIRECT): nodes may then write to one block at any time, and read what others wrote.
void pass_cache(int fd, Abilities& abilities);

/// The stripe size in the value of Lustre's extended attribute `lustre.lov` (plain layouts, and the last
/// component of a composite one, which holds the bulk of a large file); 0 where the value is none of these.
[[nodiscard]] std::int64_t lustre_stripe_bytes(std::span<const std::byte> layout);

}  // namespace hakobi::storage
