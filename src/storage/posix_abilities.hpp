#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/abilities.hpp"

namespace hakobi::storage {

/// What the file system of an open file allows: by statfs, the mount's options and the file's layout. Local, no file access.
[[nodiscard]] Abilities abilities_of(int fd);

/// Whether a network file system's line of /proc/self/mountinfo has options by which locks reach the server. Pure.
[[nodiscard]] bool mount_honours_locks(std::string_view mountinfo_line);

/// The stripe size in the value of Lustre's extended attribute `lustre.lov` (plain layouts, and the last
/// component of a composite one, which holds the bulk of a large file); 0 where the value is none of these.
[[nodiscard]] std::int64_t lustre_stripe_bytes(std::span<const std::byte> layout);

}  // namespace hakobi::storage
