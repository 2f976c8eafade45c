#pragma once

#include <sys/vfs.h>

#include <string>

#include "storage/layout.hpp"
#include "storage/layout_wish.hpp"

namespace hakobi::storage {

/// The magic of statfs, which may be sign-extended there: linux/magic.h and the file systems' own sources.
[[nodiscard]] constexpr unsigned long magic_of(const struct statfs& system) {
    return static_cast<unsigned long>(system.f_type) & 0xFFFFFFFFUL;
}
constexpr unsigned long lustre_magic = 0x0BD00BD0, cephfs_magic = 0x00C36400, fuse_magic = 0x65735546;

/// The layout of an open file on a file system that `system` describes: Lustre's or CephFS's (also by FUSE),
/// else none. Local.
[[nodiscard]] Layout posix_layout(int fd, const struct statfs& system);

/// The same of the file that a path leads to, which is opened where there may be stripes. Local.
[[nodiscard]] Layout posix_layout_at(const std::string& path);

/// layout_facts and make_laid_out for the file system's paths.
[[nodiscard]] LayoutFacts posix_layout_facts(const std::string& path);
[[nodiscard]] LaidOut make_laid_out_posix(const std::string& path, const LayoutWish& wish);

}  // namespace hakobi::storage
