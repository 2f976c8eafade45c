#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "format/step.hpp"

namespace hakobi::format {

/// The chunks of a field that is stored in filtered chunks: blocks of one shape in a grid, those at the far
/// ends reaching over the array's edge. Decided by extents and type alone, for readers: 1 MiB at most (what
/// HDF5 keeps of a data set by default), near-cubic, so that a plane across any dimension touches few of
/// them, and made wider again, the fastest dimension first, where the even division leaves room: whole rows
/// where they fit.
class ChunkGrid {
  public:
    static constexpr std::int64_t most_bytes = 1 << 20;

    ChunkGrid() = default;  ///< no chunks
    ChunkGrid(std::span<const std::int64_t> global, std::int64_t element_bytes);

    [[nodiscard]] const std::vector<std::int64_t>& shape() const noexcept { return shape_; }
    [[nodiscard]] std::int64_t num_chunks() const noexcept { return num_chunks_; }
    /// The size of a whole chunk, including the part beyond the field's edge.
    [[nodiscard]] std::int64_t chunk_bytes() const noexcept { return chunk_bytes_; }
    /// Where chunk `index` begins; they count in C order.
    [[nodiscard]] std::vector<std::int64_t> start_of(std::int64_t index) const;

  private:
    std::vector<std::int64_t> shape_, num_;  // num_: chunks in each dimension
    std::int64_t num_chunks_ = 0, chunk_bytes_ = 0;
};

/// Whether a field is stored in filtered chunks: it asks for a filter, and is not smaller than the chunks'
/// index.
[[nodiscard]] bool is_chunked(const FieldDescription& field);

/// The number of mantissa bits to which a chunked field's values are rounded; 0: they are stored as they were
/// put.
[[nodiscard]] int bits_kept(const FieldDescription& field);

/// The chunks of each field of a step; none of one that is not stored so.
[[nodiscard]] std::vector<ChunkGrid> chunk_grids(std::span<const FieldDescription> fields);

}  // namespace hakobi::format
