#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace hakobi {

/// A contiguous run of bytes of a region, and where in the region's own order (its *stream*) it stands.
struct Piece {
    std::int64_t offset_bytes = 0;  ///< from the region's origin
    std::int64_t stream_bytes = 0;  ///< bytes of the region before this one
    std::int64_t length_bytes = 0;
    friend bool operator==(const Piece&, const Piece&) = default;
};

/// The bytes of a file or of memory that a request touches, in their order: a compact nested description, not
/// a list of all pieces. Immutable; a copy shares the description. Offsets are relative to an origin that the
/// user of the region knows (the start of the file, a base address) and may be negative; memory regions may
/// overlap themselves. A file region should be *ordered* (offsets never decrease along the stream), as the
/// MPI standard requires of file views.
///
/// Pure code, no MPI; sizes and offsets in bytes below 2^63, which `valid()` checks. To walk one:
/// region/cursor.hpp.
class Region {
  public:
    struct Node;

    Region() = default;  ///< nothing

    [[nodiscard]] static Region contiguous(std::int64_t offset_bytes, std::int64_t length_bytes);
    /// `count` copies of `element`, each `stride_bytes` after the one before, all moved by `offset_bytes`.
    [[nodiscard]] static Region strided(std::int64_t offset_bytes, std::int64_t count,
                                        std::int64_t stride_bytes, const Region& element);
    /// The block [start, start + count) of an array of `global` extents of elements of `element_bytes`, C
    /// order, which itself begins at `offset_bytes`. Trailing whole dimensions are merged.
    [[nodiscard]] static Region subarray(std::int64_t offset_bytes, std::span<const std::int64_t> global,
                                         std::span<const std::int64_t> start,
                                         std::span<const std::int64_t> count, std::int64_t element_bytes);
    /// Pieces (offset, length) one after the other; adjacent ones are merged, empty ones dropped.
    [[nodiscard]] static Region indexed(std::span<const std::int64_t> offsets_bytes,
                                        std::span<const std::int64_t> lengths_bytes);
    struct Part;
    /// Regions one after the other in the stream, each moved by its offset.
    [[nodiscard]] static Region concatenated(std::span<const Part> parts);
    [[nodiscard]] Region moved(std::int64_t by_bytes) const;
    /// The part [from, from + length) of the stream; cost independent of the number of pieces of regular
    /// patterns.
    [[nodiscard]] Region substream(std::int64_t from_bytes, std::int64_t length_bytes) const;

    [[nodiscard]] std::int64_t size_bytes() const noexcept;   ///< bytes in the stream
    [[nodiscard]] std::int64_t begin_bytes() const noexcept;  ///< lowest offset; 0 when empty
    [[nodiscard]] std::int64_t end_bytes() const noexcept;    ///< one past the highest offset; 0 when empty
    /// Contiguous runs, counted without enumerating: an upper bound where neighbours touch.
    [[nodiscard]] std::int64_t num_pieces() const noexcept;
    [[nodiscard]] bool empty() const noexcept { return size_bytes() == 0; }
    [[nodiscard]] bool is_contiguous() const noexcept { return num_pieces() <= 1; }
    [[nodiscard]] bool is_ordered() const noexcept;
    /// False when an offset or a size left the range of 63 bits while the region was built.
    [[nodiscard]] bool valid() const noexcept;
    /// Bytes of an ordered region that lie below `offset_bytes`: the stream position of the first byte at or
    /// after it.
    [[nodiscard]] std::int64_t bytes_below(std::int64_t offset_bytes) const;

    /// The description as plain numbers for a message to another process, and back (`from_words` of what
    /// `to_words` gave, at any depth of nesting, else an invalid region).
    void to_words(std::vector<std::int64_t>& words) const;
    [[nodiscard]] std::int64_t num_words() const;  ///< that `to_words` adds
    [[nodiscard]] static Region from_words(std::span<const std::int64_t> words);

    /// For code that walks the description.
    [[nodiscard]] const Node* node() const noexcept { return node_.get(); }
    [[nodiscard]] std::int64_t shift_bytes() const noexcept { return shift_; }

  private:
    Region(std::shared_ptr<const Node> node, std::int64_t shift) : node_(std::move(node)), shift_(shift) {}
    static Region from_first_words(std::span<const std::int64_t>& rest);
    static Region broken();

    std::shared_ptr<const Node> node_;
    std::int64_t shift_ = 0;  // added to every offset of the node
};

struct Region::Part {
    std::int64_t offset_bytes = 0;
    Region region;
};

/// One level of a description. Offsets of a node are relative; the Region or the parent that holds it shifts
/// them.
struct Region::Node {
    enum class Kind { contiguous, strided, pieces, parts };

    Kind kind = Kind::contiguous;
    bool ordered = true;
    bool valid = true;
    std::int64_t size = 0, begin = 0, end = 0, num_pieces = 1;  // size > 0 but for broken regions

    // strided: copy i of `element` is moved by i * stride
    std::int64_t count = 1, stride = 0;
    Region element;
    // pieces: offsets and lengths; parts: regions; both with the stream position of each, and the size at the
    // end
    std::vector<std::int64_t> offsets, lengths, stream;
    std::vector<Region> parts;
};

}  // namespace hakobi
