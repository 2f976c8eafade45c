#pragma once

#include <cassert>
#include <cstdint>
#include <vector>

#include "region/region.hpp"

namespace hakobi {

/// Walks a region's pieces in stream order from any stream position. Holds the region's description; cheap to
/// move forward (a few nanoseconds a piece), and to seek (one division or binary search a nesting level).
class Cursor {
  public:
    /// At stream position 0. The region must outlive the cursor.
    explicit Cursor(const Region& region);
    void seek(std::int64_t stream_bytes);

    [[nodiscard]] bool at_end() const noexcept { return remaining_ == 0; }
    [[nodiscard]] std::int64_t stream() const noexcept { return stream_; }
    /// Offset of the byte at the position, and how many bytes follow it contiguously (of this piece).
    [[nodiscard]] std::int64_t offset() const noexcept { return offset_; }
    [[nodiscard]] std::int64_t remaining() const noexcept { return remaining_; }
    /// The pieces from the position on as long as they are alike: `num` of `length` bytes, `stride` apart.
    /// One, with what remains of it, where the position is inside a piece or the pattern has no regular
    /// pieces. Constant time.
    struct Series {
        std::int64_t offset, length, stride, num;
    };
    [[nodiscard]] Series series() const noexcept;
    /// Moves forward by `num` <= series().num whole pieces.
    void skip(std::int64_t num);
    /// Moves forward by `bytes` <= remaining().
    void advance(std::int64_t bytes) {
        assert(bytes >= 0 && bytes <= remaining_);
        offset_ += bytes;
        stream_ += bytes;
        remaining_ -= bytes;
        if (remaining_ == 0) next_piece();
    }

  private:
    struct Frame {
        const Region::Node* node;
        std::int64_t shift;  // of the node's offsets
        std::int64_t index;  // copy, piece or part under the position
    };
    void next_piece();
    void descend(const Region& region, std::int64_t shift, std::int64_t stream);

    const Region* region_;
    std::vector<Frame> frames_;  // from the outermost level to the one that holds the piece
    std::int64_t stream_ = 0, offset_ = 0, remaining_ = 0;
};

}  // namespace hakobi
