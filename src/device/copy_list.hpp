#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "device/device.hpp"

namespace hakobi::device {

/// The part of a box that one block of the kernel copies: the units [first, end). Unit i lies in row i /
/// row_units of all planes. The kernel (copy_kernel.cpp) reads this layout.
struct Tile {
    std::uint64_t to = 0, from = 0;
    std::uint64_t to_row_stride = 0, from_row_stride = 0, to_plane_stride = 0,
                  from_plane_stride = 0;                            // bytes
    std::uint32_t first = 0, end = 0, row_units = 0, num_rows = 0;  // num_rows: of a plane
    std::uint32_t unit_bytes = 0;
    std::array<std::uint32_t, 3> unused{};  // the vector loads of PTX want 16 bytes
};
static_assert(sizeof(Tile) == 80);

/// Threads of a block.
inline constexpr unsigned tile_threads = 256;

/// A copy of a list, and what the driver says of its addresses.
struct Placed {
    Copy copy;
    bool is_with_host = false;
    bool is_reached = false;  ///< by kernels, both sides
};

/// Who does what of a list: the kernel, in one launch, or the copy engine, a command each.
struct Division {
    std::vector<Tile> tiles;
    std::vector<Copy> commands;
};

/// The faster division, by what both cost on a device that was measured. Pure.
[[nodiscard]] Division divide(std::span<const Placed> copies, std::int64_t max_pitch_bytes);

/// The kernel in PTX, which the driver compiles: one argument, the address of the tiles; a block each.
inline constexpr const char* copy_kernel_name = "hakobi_copy_tiles";
[[nodiscard]] const char* copy_kernel_ptx();

}  // namespace hakobi::device
