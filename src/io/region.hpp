#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace hakobi::io {

/// A contiguous run of bytes of a region, and where in the region's own order (its *stream*) it stands.
struct Piece {
    std::int64_t offset_bytes = 0;  ///< from the region's origin
    std::int64_t stream_bytes = 0;  ///< bytes of the region before this one
    std::int64_t length_bytes = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
};

/// Which bytes of a file or of memory a request touches, in which order: a compact nested description, not a list of
/// all pieces. Immutable; a copy shares the description. Offsets are relative to an origin that the user of the region
/// knows (the start of the file, a base address), may be negative and overlap in memory regions; a file region is
/// *ordered* (offsets never decrease along the stream), as the MPI standard requires of file views for writing.
///
/// Pure code, no MPI; sizes and offsets in bytes below 2^63, which `valid()` checks.
class Region {
  public:
    struct Node;

    Region() = default;  ///< nothing

    [[nodiscard]] static Region contiguous(std::int64_t offset_bytes, std::int64_t length_bytes);
    /// `count` copies of `element`, each `stride_bytes` after the one before.
    [[nodiscard]] static Region strided(std::int64_t offset_bytes, std::int64_t count, std::int64_t stride_bytes,
                                        const Region& element);
    /// The block [start, start + count) of an array of `global` extents of elements of `element_bytes`, C order,
    /// which itself begins at `offset_bytes`. Trailing whole dimensions are merged.
    [[nodiscard]] static Region subarray(std::int64_t offset_bytes, std::span<const std::int64_t> global,
                                         std::span<const std::int64_t> start, std::span<const std::int64_t> count,
                                         std::int64_t element_bytes);
    /// Pieces (offset, length) one after the other; adjacent ones are merged.
    [[nodiscard]] static Region indexed(std::span<const std::int64_t> offsets_bytes, std::span<const std::int64_t> lengths_bytes);
    /// Regions one after the other in the stream, each moved by its offset.
    struct Part {
        std::int64_t offset_bytes = 0;
        Region region;
    };
    [[nodiscard]] static Region concatenated(std::span<const Part> parts);
    [[nodiscard]] Region moved(std::int64_t by_bytes) const;
    /// The part of the stream [from, from + length).
    [[nodiscard]] Region substream(std::int64_t from_bytes, std::int64_t length_bytes) const;

    [[nodiscard]] std::int64_t size_bytes() const noexcept;    ///< bytes in the stream
    [[nodiscard]] std::int64_t begin_bytes() const noexcept;   ///< lowest offset; 0 when empty
    [[nodiscard]] std::int64_t end_bytes() const noexcept;     ///< one past the highest offset; 0 when empty
    [[nodiscard]] std::int64_t num_pieces() const noexcept;    ///< contiguous runs, counted without enumerating; an upper bound where neighbours touch
    [[nodiscard]] bool empty() const noexcept { return size_bytes() == 0; }
    [[nodiscard]] bool is_contiguous() const noexcept { return num_pieces() <= 1; }
    [[nodiscard]] bool is_ordered() const noexcept;
    /// False when an offset or size left the range of 63 bits while the region was built.
    [[nodiscard]] bool valid() const noexcept;

    /// For code that walks the description.
    [[nodiscard]] const Node* node() const noexcept { return node_.get(); }

  private:
    explicit Region(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
    std::shared_ptr<const Node> node_;
};

}  // namespace hakobi::io
