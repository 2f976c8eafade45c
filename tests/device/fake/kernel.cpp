// The one kernel that this driver has: the library's.
#include <cstring>

#include "device/copy_list.hpp"
#include "state.hpp"

namespace fake {

namespace {

using hakobi::device::Tile;

/// Where the driver accesses bytes that a kernel touches; null: the kernel may not.
char* touched(std::uint64_t address, std::size_t bytes, bool& is_host) {
    auto* const begin = reinterpret_cast<char*>(address);
    const std::lock_guard lock(the().mutex);
    const auto fits = [&](const char* memory, std::size_t size) { return begin + bytes <= memory + size; };
    if (const auto found = find_allocation(begin); found != the().allocations.end())
        return fits(found->first, found->second.bytes) ? found->second.own + (begin - found->first) : nullptr;
    const auto found = find_registered(begin);
    is_host = true;
    const bool is_allowed = found != the().registered.end() && found->second.is_mapped;
    return is_allowed && fits(found->first, found->second.bytes) ? begin : nullptr;
}

/// Does the work of a block's threads, one after the other; false where a real one ends by an illegal or
/// misaligned address.
bool run_block(const Tile& tile, std::array<std::size_t, 2>& host_bytes) {
    for (std::uint32_t i = tile.first; i < tile.end; ++i) {
        const std::uint64_t rows = i / tile.row_units, in_row = i % tile.row_units * tile.unit_bytes;
        const std::uint64_t plane = rows / tile.num_rows, row = rows % tile.num_rows;
        const std::uint64_t to = tile.to + in_row + row * tile.to_row_stride + plane * tile.to_plane_stride;
        const std::uint64_t from =
            tile.from + in_row + row * tile.from_row_stride + plane * tile.from_plane_stride;
        std::array<bool, 2> is_host{};
        char* const target = touched(to, tile.unit_bytes, is_host[0]);
        const char* const source = touched(from, tile.unit_bytes, is_host[1]);
        if (!target || !source || (to | from) % tile.unit_bytes != 0) return false;
        std::memcpy(target, source, tile.unit_bytes);
        for (int side : {0, 1})
            if (is_host[side]) host_bytes[side] += tile.unit_bytes;
    }
    return true;
}

void run_kernel(int device, const Tile* tiles, std::size_t num_tiles) {
    if (!may_begin()) return;
    std::array<std::size_t, 2> host_bytes{};
    for (std::size_t block = 0; block < num_tiles; ++block)
        if (!run_block(tiles[block], host_bytes)) the().is_broken = true;
    for (int side : {0, 1}) take_time(the().devices[device]->engines[side], host_bytes[side], [] {});
}

}  // namespace

int launch(const void* tiles, std::size_t num_tiles, Stream* stream) {
    const std::lock_guard lock(the().mutex);
    const auto* seen = static_cast<const char*>(tiles);
    const auto found = find_allocation(seen);
    if (num_tiles == 0 || found == the().allocations.end()) return invalid_value;
    const auto offset = static_cast<std::size_t>(seen - found->first);
    if (found->second.bytes - offset < num_tiles * sizeof(Tile)) return invalid_value;
    const auto* own = reinterpret_cast<const Tile*>(found->second.own + offset);
    ++the().num_launches;
    give(stream, [device = stream->device, own, num_tiles] { run_kernel(device, own, num_tiles); });
    return success;
}

}  // namespace fake

extern "C" __attribute__((visibility("default"))) std::int64_t hakobi_fake_num_launches() {
    return fake::the().num_launches;
}
