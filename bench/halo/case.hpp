#pragma once

#include <array>
#include <cstdint>
#include <hakobi/halo.hpp>
#include <string>
#include <vector>

namespace hakobi::bench {

/// One geometry of the benchmark: a grid of equal blocks of doubles, periodic where said, and which faces are
/// exchanged.
struct HaloCase {
    std::int64_t extent = 64;  ///< of a rank's block, in every dimension
    std::int64_t num_components = 8;
    bool components_first = false;
    std::int64_t ghost = 1;
    std::vector<int> ranks;  ///< in each dimension
    bool is_periodic = true;
    bool corners = true;
    int num_directions = 3;    ///< the first dimensions of the grid have ghosts, the others none
    bool is_both_ways = true;  ///< false: below only, so that data go upwards only

    [[nodiscard]] std::size_t num_dims() const { return ranks.size(); }
    [[nodiscard]] HaloGrid grid() const;
    /// Doubles of a rank's array, and the array's extents with ghosts and components in the order of memory.
    [[nodiscard]] std::int64_t num_values() const;
    [[nodiscard]] std::vector<int> sizes() const;
    [[nodiscard]] std::size_t component_dim() const { return components_first ? 0 : num_dims(); }
    [[nodiscard]] std::size_t memory_dim(std::size_t d) const { return components_first ? d + 1 : d; }
    [[nodiscard]] std::string text() const;
};

/// A part of the array, as MPI_Type_create_subarray takes it.
struct Subarray {
    std::vector<int> starts, sizes;
    [[nodiscard]] std::int64_t num_values() const;
};

/// One direction's transfer: `to` is sent `own`, and `ghost` comes from `from`; -1: nobody.
struct Direction {
    int from = -1, to = -1;
    Subarray own, ghost;
};
/// All directions at once, as plain MPI programs write them: written without the library's own geometry.
[[nodiscard]] std::vector<Direction> directions_of(const HaloCase& halo_case, int rank);
/// Dimension after dimension, ghosts of earlier ones sent along: edges and corners come of themselves. Two
/// entries at most a dimension; the entries of `phases[d]` may be under way together.
[[nodiscard]] std::vector<std::vector<Direction>> phases_of(const HaloCase& halo_case, int rank);

/// Own elements get values that say where in the global grid they are, ghosts one that none has.
void fill(const HaloCase& halo_case, int rank, int round, double* values);
/// Number of values that are not as they must be after an exchange.
[[nodiscard]] std::int64_t count_wrong(const HaloCase& halo_case, int rank, int round, const double* values);

}  // namespace hakobi::bench
