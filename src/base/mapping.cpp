#include "base/mapping.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <utility>

namespace hakobi {

Mapping Mapping::of(std::int64_t bytes, std::int64_t align_bytes, int fd) {
    assert(bytes > 0);
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const auto align = std::max(static_cast<std::size_t>(align_bytes), page);
    const std::size_t length = (static_cast<std::size_t>(bytes) + page - 1) / page * page;
    // mmap promises pages only: a larger range is taken, and both ends given back.
    const std::size_t extra = align - page;
    void* const range =
        ::mmap(nullptr, length + extra, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return {};
    auto* const begin = static_cast<std::byte*>(range);
    const std::size_t before = (align - reinterpret_cast<std::uintptr_t>(begin) % align) % align;
    const int kind = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;
    if (::mmap(begin + before, length, PROT_READ | PROT_WRITE, kind | MAP_FIXED, fd, 0) == MAP_FAILED) {
        const int error = errno;
        ::munmap(range, length + extra);
        errno = error;
        return {};
    }
    if (before > 0) ::munmap(begin, before);
    if (before < extra) ::munmap(begin + before + length, extra - before);
    Mapping mapping;
    mapping.data_ = begin + before;
    mapping.size_bytes_ = bytes;
    return mapping;
}

Mapping::Mapping(Mapping&& other) noexcept {
    *this = std::move(other);
}

Mapping& Mapping::operator=(Mapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_bytes_, other.size_bytes_);
    return *this;
}

Mapping::~Mapping() {
    if (data_ != nullptr) ::munmap(data_, static_cast<std::size_t>(size_bytes_));
}

}  // namespace hakobi
