#include "measure/residency.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "base/descriptor.hpp"

namespace hakobi::measure {
namespace {

// The kernel's structures of cachestat(2), Linux 6.5; the C library has no name for them yet.
constexpr long cachestat_number = 451;
struct CachestatRange {
    std::uint64_t offset, length;
};
struct Cachestat {
    std::uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

Status residency_by_mincore(int fd, Residency& residency) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    // Piece by piece: the vector takes one byte a page, and a file may be larger than the address space to
    // spare.
    const std::int64_t piece = std::int64_t{1} << 30;
    residency.source = "mincore";
    residency.dirty_bytes = -1;
    for (std::int64_t at = 0; at < residency.file_bytes; at += piece) {
        const auto length = static_cast<std::size_t>(std::min(piece, residency.file_bytes - at));
        void* mapping = mmap(nullptr, length, PROT_READ, MAP_SHARED, fd, at);
        if (mapping == MAP_FAILED) return status_of_errno(errno, "cannot map", "the file");
        std::vector<unsigned char> resident((length + static_cast<std::size_t>(page) - 1) /
                                            static_cast<std::size_t>(page));
        const int failed = mincore(mapping, length, resident.data()) != 0 ? errno : 0;
        munmap(mapping, length);
        if (failed != 0) return status_of_errno(failed, "mincore", "the file");
        residency.cached_bytes += page * std::count_if(resident.begin(), resident.end(),
                                                       [](unsigned char flags) { return (flags & 1) != 0; });
    }
    return {};
}

Status residency_of(int fd, Residency& residency) {
    const std::int64_t page = sysconf(_SC_PAGESIZE);
    const CachestatRange range{0, static_cast<std::uint64_t>(residency.file_bytes)};
    Cachestat stat{};
    Status status;
    if (residency.file_bytes == 0 || syscall(cachestat_number, fd, &range, &stat, 0U) == 0) {
        residency.source = "cachestat";
        residency.cached_bytes = static_cast<std::int64_t>(stat.cached) * page;
        residency.dirty_bytes = std::min(static_cast<std::int64_t>(stat.dirty) * page, residency.file_bytes);
    } else {
        status = residency_by_mincore(fd, residency);
    }
    residency.cached_bytes = std::min(residency.cached_bytes, residency.file_bytes);
    return status;
}

Result<Residency> residency_of_path(const std::string& path, bool drop) {
    const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) return status_of_errno(errno, "cannot open", path);
    struct stat info {};
    if (fstat(file.get(), &info) != 0) return status_of_errno(errno, "cannot stat", path);
    if (!S_ISREG(info.st_mode)) return Status(ErrorCode::invalid_argument, path + " is not a regular file");
    if (drop) {
        if (fsync(file.get()) != 0) return status_of_errno(errno, "cannot sync", path);
        if (const int error = posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED); error != 0) {
            return status_of_errno(error, "cannot drop from the page cache", path);
        }
    }
    Residency residency;
    residency.file_bytes = info.st_size;
    Status status = residency_of(file.get(), residency);
    if (!status.ok()) return Status(status.code(), path + ": " + status.text());
    return residency;
}

}  // namespace

Result<Residency> page_cache_residency(const std::string& path) {
    return residency_of_path(path, false);
}
Result<Residency> drop_from_page_cache(const std::string& path) {
    return residency_of_path(path, true);
}

std::int64_t memory_bytes() {
    const long pages = sysconf(_SC_PHYS_PAGES);
    return pages > 0 ? static_cast<std::int64_t>(pages) * sysconf(_SC_PAGESIZE) : 0;
}

}  // namespace hakobi::measure
