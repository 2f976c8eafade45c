#include "device/copy_list.hpp"

#include <algorithm>

#include "device/rows.hpp"

namespace hakobi::device {
namespace {

/// The costs of a copy, in nanoseconds and bytes a nanosecond, measured on an H200 on PCIe 5, November 2026,
/// unless a comment names another source.
struct Costs {
    double command = 8000;  ///< a copy that the engine is given, 6 to 13 us
    double launch = 10'000;
    struct Rates {
        double engine_rows, engine, engine_contiguous;  ///< the first in rows a nanosecond
        double kernel;
    };
    Rates device{1.6, 640, 2000, 1500};
    Rates host{.8, 55, 55, 25};  ///< the last one is an estimate, on the careful side
};
constexpr Costs costs;

double engine_ns(const Copy& joined, const Costs::Rates& rates, std::int64_t max_pitch_bytes) {
    const auto num_rows = static_cast<double>(joined.num[0] * joined.num[1]);
    const double rate = num_rows > 1 ? rates.engine : rates.engine_contiguous;
    const auto num_commands = static_cast<double>(RowParts(joined, max_pitch_bytes).num());
    return num_commands * costs.command +
           std::max(static_cast<double>(joined.size_bytes()) / rate, num_rows / rates.engine_rows);
}

/// The largest that divides all addresses, distances and lengths of a copy.
std::int64_t unit_bytes_of(const Copy& joined) {
    std::uint64_t all = reinterpret_cast<std::uintptr_t>(joined.to) |
                        reinterpret_cast<std::uintptr_t>(joined.from) |
                        static_cast<std::uint64_t>(joined.length_bytes);
    for (int dimension : {0, 1})
        all |= static_cast<std::uint64_t>(joined.to_strides_bytes[dimension] |
                                          joined.from_strides_bytes[dimension]);
    std::int64_t unit = 16;
    while (all % static_cast<std::uint64_t>(unit) != 0) unit /= 2;
    return unit;
}

/// The kernel counts units in 32 bits, and adds a block's threads to the count.
bool is_countable(const Copy& joined) {
    return joined.size_bytes() / unit_bytes_of(joined) <= std::int64_t{1} << 31;
}

void append_tiles(std::vector<Tile>& tiles, const Copy& joined) {
    // A unit a thread: nothing is waited for twice. More than so many blocks of a box gain nothing.
    constexpr std::int64_t most_blocks = 512, threads = tile_threads;
    const std::int64_t unit = unit_bytes_of(joined), num_units = joined.size_bytes() / unit;
    const std::int64_t a_block = std::max((num_units + most_blocks - 1) / most_blocks, threads);
    const std::int64_t a_tile = (a_block + threads - 1) / threads * threads;
    const auto wide = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
    const auto narrow = [](std::int64_t value) { return static_cast<std::uint32_t>(value); };
    Tile tile{.to = reinterpret_cast<std::uintptr_t>(joined.to),
              .from = reinterpret_cast<std::uintptr_t>(joined.from),
              .to_row_stride = wide(joined.to_strides_bytes[1]),
              .from_row_stride = wide(joined.from_strides_bytes[1]),
              .to_plane_stride = wide(joined.to_strides_bytes[0]),
              .from_plane_stride = wide(joined.from_strides_bytes[0]),
              .row_units = narrow(joined.length_bytes / unit),
              .num_rows = narrow(joined.num[1]),
              .unit_bytes = narrow(unit)};
    for (std::int64_t first = 0; first < num_units; first += a_tile) {
        tile.first = narrow(first);
        tile.end = narrow(std::min(first + a_tile, num_units));
        tiles.push_back(tile);
    }
}

}  // namespace

Division divide(std::span<const Placed> copies, std::int64_t max_pitch_bytes) {
    Division with_kernel, without;
    double kernel_ns = costs.launch, spared_ns = 0;
    for (const Placed& placed : copies) {
        if (placed.copy.size_bytes() <= 0) continue;
        without.commands.push_back(placed.copy);
        const Copy copy = joined(placed.copy);
        const Costs::Rates& rates = placed.is_with_host ? costs.host : costs.device;
        const double alone_ns = engine_ns(copy, rates, max_pitch_bytes);
        const double among_ns = static_cast<double>(copy.size_bytes()) / rates.kernel;
        if (!placed.is_reached || !is_countable(copy) || among_ns >= alone_ns) {
            with_kernel.commands.push_back(placed.copy);
            continue;
        }
        append_tiles(with_kernel.tiles, copy);
        kernel_ns += among_ns;
        spared_ns += alone_ns;
    }
    return kernel_ns < spared_ns ? with_kernel : without;
}

}  // namespace hakobi::device
