#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace hakobi::measure {

/// How much of a file lies in the kernel's page cache: what tells a storage figure from a memory figure.
struct Residency {
    std::int64_t file_bytes = 0;
    std::int64_t cached_bytes = 0;  ///< in whole pages, at most file_bytes
    std::int64_t dirty_bytes =
        0;               ///< cached and not yet on storage; -1 where the kernel does not say (mincore)
    std::string source;  ///< "cachestat" or "mincore"
    [[nodiscard]] double cached_share() const noexcept {
        return file_bytes > 0 ? static_cast<double>(cached_bytes) / static_cast<double>(file_bytes) : 0;
    }
};

/// Measured, not guessed: cachestat(2) where the kernel has it, else mincore(2) on a mapping. Reading it
/// touches no page of the file. A file on tmpfs is all memory by nature and says so.
[[nodiscard]] Result<Residency> page_cache_residency(const std::string& path);

/// Writes back and drops the file's pages from the cache (sync, then POSIX_FADV_DONTNEED), so that the next
/// read comes from storage; tells what is left by page_cache_residency. Pages that another process maps may
/// stay.
[[nodiscard]] Result<Residency> drop_from_page_cache(const std::string& path);

/// Bytes of memory on this node; what a file must exceed to be sure that the page cache did not hold it. 0:
/// unknown.
[[nodiscard]] std::int64_t memory_bytes();

}  // namespace hakobi::measure
