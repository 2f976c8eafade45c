#include "mpiio/view.hpp"

namespace hakobi::mpiio {
namespace {

/// A region that says that there is none: offsets outside 63 bits.
Region unknown_region() {
    return Region::contiguous(INT64_MAX, 1);
}

}  // namespace

View::View(std::int64_t displacement_bytes, const Layout& etype, const Layout& filetype)
    : displacement_bytes_(displacement_bytes),
      etype_bytes_(etype.size_bytes),
      is_known_(etype.is_known && filetype.is_known && filetype.size_bytes > 0 && etype.size_bytes > 0),
      is_dense_(filetype.is_dense()),
      tile_bytes_(filetype.size_bytes),
      tile_extent_bytes_(filetype.extent_bytes),
      tile_(filetype.item) {}

Region View::bytes(std::int64_t position_bytes, std::int64_t length_bytes) const {
    if (length_bytes == 0) return {};
    std::int64_t end_bytes = 0;
    if (!is_known_ || position_bytes < 0 ||
        __builtin_add_overflow(position_bytes, length_bytes, &end_bytes)) {
        return unknown_region();
    }
    if (is_dense_) {
        std::int64_t begin_bytes = 0;
        if (__builtin_add_overflow(displacement_bytes_, position_bytes, &begin_bytes))
            return unknown_region();
        return Region::contiguous(begin_bytes, length_bytes);
    }
    const std::int64_t first_tile = position_bytes / tile_bytes_;
    const std::int64_t last_tile = (end_bytes - 1) / tile_bytes_;
    std::int64_t origin_bytes = 0;
    if (__builtin_mul_overflow(first_tile, tile_extent_bytes_, &origin_bytes) ||
        __builtin_add_overflow(origin_bytes, displacement_bytes_, &origin_bytes)) {
        return unknown_region();
    }
    const Region tiles = Region::strided(origin_bytes, last_tile - first_tile + 1, tile_extent_bytes_, tile_);
    if (!tiles.valid()) return tiles;
    return tiles.substream(position_bytes - first_tile * tile_bytes_, length_bytes);
}

std::int64_t View::etypes_below(std::int64_t end_bytes) const {
    if (!is_known_ || tile_extent_bytes_ <= 0) return -1;
    const std::int64_t span_bytes = end_bytes - displacement_bytes_;
    if (span_bytes <= 0) return 0;
    std::int64_t bytes = span_bytes;
    if (!is_dense_) {  // tiles do not overlap in what MPI calls a view: one at most is there in part
        const std::int64_t beyond_first = span_bytes - tile_.end_bytes();
        const std::int64_t num_whole = beyond_first >= 0 ? beyond_first / tile_extent_bytes_ + 1 : 0;
        bytes = num_whole * tile_bytes_ + tile_.bytes_below(span_bytes - num_whole * tile_extent_bytes_);
    }
    return (bytes + etype_bytes_ - 1) / etype_bytes_;
}

}  // namespace hakobi::mpiio
