#include "format/hdf5/sparse_image.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace hakobi::format {

void SparseImage::write(std::int64_t offset_bytes, std::span<const std::byte> data) {
    assert(offset_bytes >= 0);
    while (!data.empty()) {
        const std::int64_t within = offset_bytes % page_bytes;
        const std::size_t length = std::min(data.size(), static_cast<std::size_t>(page_bytes - within));
        std::memcpy(pages_[offset_bytes / page_bytes].data() + within, data.data(), length);
        data = data.subspan(length);
        offset_bytes += static_cast<std::int64_t>(length);
        size_bytes_ = std::max(size_bytes_, offset_bytes);
    }
}

void SparseImage::leave(std::int64_t offset_bytes, std::int64_t length_bytes) {
    assert(offset_bytes >= 0 && length_bytes >= 0);
    left_.push_back(offset_bytes);
    size_bytes_ = std::max(size_bytes_, offset_bytes + length_bytes);
}

void SparseImage::read(std::int64_t offset_bytes, std::span<std::byte> data) const {
    assert(offset_bytes >= 0);
    while (!data.empty()) {
        const std::int64_t within = offset_bytes % page_bytes;
        const std::size_t length = std::min(data.size(), static_cast<std::size_t>(page_bytes - within));
        const auto page = pages_.find(offset_bytes / page_bytes);
        if (page == pages_.end()) {
            std::memset(data.data(), 0, length);
        } else {
            std::memcpy(data.data(), page->second.data() + within, length);
        }
        data = data.subspan(length);
        offset_bytes += static_cast<std::int64_t>(length);
    }
}

std::vector<Extent> SparseImage::extents() const {
    std::vector<Extent> result;
    for (const auto& [number, page] : pages_) {
        const std::int64_t offset = number * page_bytes;
        const std::int64_t length = std::min(page_bytes, size_bytes_ - offset);
        if (length <= 0) break;
        const bool joins =
            !result.empty() &&
            result.back().offset_bytes + static_cast<std::int64_t>(result.back().bytes.size()) == offset;
        if (!joins) result.push_back({offset, {}});
        result.back().bytes.insert(result.back().bytes.end(), page.begin(), page.begin() + length);
    }
    return result;
}

}  // namespace hakobi::format
