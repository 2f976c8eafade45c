#pragma once

#include <span>
#include <vector>

#include "entrant.hpp"
#include "site.hpp"

namespace hakobi::bench {

/// A block of bytes in an array that is one ghost value larger on every side: runs of `row_bytes`, `num_rows`
/// of them a plane. One row in one plane has no array around it.
struct BlockShape {
    std::int64_t row_bytes = 0, num_rows = 1, num_planes = 1;
    static constexpr std::int64_t ghost_bytes = 8;

    [[nodiscard]] std::int64_t bytes() const { return row_bytes * num_rows * num_planes; }
    [[nodiscard]] std::int64_t pitch_bytes() const {
        return num_rows == 1 && num_planes == 1 ? row_bytes : row_bytes + 2 * ghost_bytes;
    }
    [[nodiscard]] std::int64_t plane_bytes() const {
        return pitch_bytes() * (num_planes == 1 ? num_rows : num_rows + 2);
    }
    /// The array's bytes, without those before and behind the block.
    [[nodiscard]] std::int64_t array_bytes() const { return plane_bytes() * num_planes; }
};

/// One piece, then rows of these sizes in two and in three dimensions, of about `bytes` each.
[[nodiscard]] std::vector<BlockShape> block_shapes(std::int64_t bytes, std::span<const std::int64_t> rows);

/// From the device to page-locked memory of the host and back, and within the device, by: the driver's own
/// copy of as many contiguous bytes (the floor), this library's queue, and, to the host, a copy of the whole
/// array of which the host picks the block. Collective; `shape` equal on all ranks.
[[nodiscard]] std::vector<DeviceCase> copy_cases(DeviceSite& site, const BlockShape& shape);

}  // namespace hakobi::bench
