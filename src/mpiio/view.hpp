#pragma once

#include <cstdint>

#include "mpiio/datatype.hpp"
#include "region/region.hpp"

namespace hakobi::mpiio {

/// A file view: the displacement, and the file type's bytes repeated for ever, each copy an extent after the
/// one before. Positions count bytes of the view, from its start. Pure once made; a copy shares the
/// description.
class View {
  public:
    /// The view of a file that was just opened: all bytes.
    View() = default;
    View(std::int64_t displacement_bytes, const Layout& etype, const Layout& filetype);

    /// Where in the file the bytes [position, position + length) of the view lie. Not valid() when the view
    /// cannot be described or leaves the range of offsets.
    [[nodiscard]] Region bytes(std::int64_t position_bytes, std::int64_t length_bytes) const;

    /// How many etypes of the view lie below the file's byte `end_bytes`, one that lies there in part
    /// included: where MPI_SEEK_END leads in a file of that size. -1 when the view cannot be described.
    [[nodiscard]] std::int64_t etypes_below(std::int64_t end_bytes) const;

    [[nodiscard]] std::int64_t etype_bytes() const noexcept { return etype_bytes_; }
    /// Whether the view is all bytes from `displacement_bytes` on.
    [[nodiscard]] bool is_dense() const noexcept { return is_known_ && is_dense_; }
    [[nodiscard]] std::int64_t displacement_bytes() const noexcept { return displacement_bytes_; }

  private:
    std::int64_t displacement_bytes_ = 0;
    std::int64_t etype_bytes_ = 1;
    bool is_known_ = true;
    bool is_dense_ = true;  // the view is all bytes from the displacement on
    std::int64_t tile_bytes_ = 1, tile_extent_bytes_ = 1;
    Region tile_;  // of one file type
};

}  // namespace hakobi::mpiio
