#pragma once

#include <cstdint>
#include <hakobi/halo.hpp>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "exchange/halo_geometry.hpp"

namespace hakobi::exchange {

constexpr int any_path = -1;

/// The options with what the environment says in the place of defaults.
struct Wishes {
    int path = any_path;  ///< or the number of one of path_names()
    double timeout_s = 0;
    [[nodiscard]] static Result<Wishes> of(const HaloOptions& options);
};

/// Where a rank's fields are.
enum class Place : std::int64_t { host, device, aware_device };

/// The record that ranks compare: entries that must be equal first, then the extents and the place.
struct GridRecord {
    static constexpr std::size_t num_equal = 5 + 2 * most_halo_dims + 2 * most_halo_dims + 1;
    static constexpr std::size_t place = num_equal + most_halo_dims;
    static constexpr std::size_t num_words = place + 1;
    std::vector<std::int64_t> words;

    [[nodiscard]] static GridRecord of(const HaloGrid& grid, std::span<const HaloField> fields, bool corners,
                                       const Wishes& wishes, Place place);
};

/// Compares all ranks' records; the same answer everywhere.
[[nodiscard]] Status check_equal(std::span<const std::int64_t> all, int num_ranks);

}  // namespace hakobi::exchange
