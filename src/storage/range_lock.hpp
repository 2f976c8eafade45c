#pragma once

#include <fcntl.h>

#include <cstdint>

#include "base/status.hpp"

namespace hakobi::storage {

/// Who fills holes (reads a range, changes parts of it and writes it back) and who else writes the file
/// meanwhile, kept out of each other's way by open-file-description locks:
///
/// 1. A filler locks its range moved by `shadow_bytes`, where no file has bytes, for writing. A rank that
///    writes by the MPI library locks the whole shadow for reading: any number of such writers go on side by
///    side, and the locks that ROMIO takes within the same call never meet this one, as they would on the
///    range itself.
/// 2. Then it locks the range. That keeps out ROMIO's data sieving, which takes process locks on the ranges
///    that it changes.
constexpr std::int64_t shadow_bytes = std::int64_t{1} << 62;

/// A lock of `type` (F_RDLCK, F_WRLCK, F_UNLCK) on the range. A length of 0 reaches to the end of offsets.
[[nodiscard]] struct flock lock_on(short type, std::int64_t offset, std::int64_t length);
/// fcntl(2) with one of F_OFD_SETLK, F_OFD_SETLKW and F_OFD_GETLK, again after a signal. 0 or errno.
int change_lock(int descriptor, int command, struct flock& lock);

/// Looks for a write lock of another description that meets the range, of those that lie in it or begin in
/// front of it at `least_offset` or behind: flock(2) on NFS, and other programs, lock whole files, and mean
/// none of ours. 1: there is one, in `found`; 0: none; -1: the system does not tell.
int find_write_lock(int descriptor, std::int64_t offset, std::int64_t length, std::int64_t least_offset,
                    struct flock& found);

constexpr double default_tell_after_s = 5;

/// Blocks until the range is this description's, without a limit, as ROMIO does; after `tell_after_s` a line
/// on stderr names the file and the process that holds the lock. `unsupported` where the file system, or the
/// way in which the file is open, knows no such locks; then nothing is locked.
Status lock_to_fill(int descriptor, std::int64_t offset, std::int64_t length,
                    double tell_after_s = default_tell_after_s);
Status unlock_filled(int descriptor, std::int64_t offset, std::int64_t length);

/// While one exists nobody who keeps to these rules fills a hole of the file. Not copied; any thread.
class WriterLock {
  public:
    /// `descriptor` is open for reading, or -1: no lock. Where the lock is refused there is none: nobody can
    /// fill there either.
    explicit WriterLock(int descriptor);
    ~WriterLock();
    WriterLock(const WriterLock&) = delete;
    WriterLock& operator=(const WriterLock&) = delete;

  private:
    int descriptor_;
};

}  // namespace hakobi::storage
