#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "storage/file.hpp"

namespace hakobi::storage {

/// Whether a network file system's line of /proc/self/mountinfo has options by which locks reach the server. Pure.
[[nodiscard]] bool mount_honours_locks(std::string_view mountinfo_line);

/// Opens a file of the file system. With mode.direct a second descriptor with O_DIRECT serves what is
/// aligned; where the file system refuses O_DIRECT everything is buffered.
Result<FilePtr> open_posix(const std::string& path, const OpenMode& mode);

/// The stripe size in the value of Lustre's extended attribute `lustre.lov` (plain layouts, and the last
/// component of a composite one, which holds the bulk of a large file); 0 where the value is none of these.
[[nodiscard]] std::int64_t lustre_stripe_bytes(std::span<const std::byte> layout);

}  // namespace hakobi::storage
