#pragma once

#include <algorithm>
#include <cstdint>

namespace hakobi::io {

/// Bytes of a file, [begin, end).
struct ByteRange {
    std::int64_t begin_bytes = 0, end_bytes = 0;  ///< equal: none

    [[nodiscard]] bool empty() const { return end_bytes <= begin_bytes; }
    [[nodiscard]] bool overlaps(const ByteRange& other) const {
        return begin_bytes < other.end_bytes && other.begin_bytes < end_bytes;
    }
    /// Around both.
    [[nodiscard]] ByteRange with(const ByteRange& other) const {
        if (empty()) return other;
        if (other.empty()) return *this;
        return {std::min(begin_bytes, other.begin_bytes), std::max(end_bytes, other.end_bytes)};
    }
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace hakobi::io
