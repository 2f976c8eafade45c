#pragma once

#include <array>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hakobi::lattice {

/// Directions in the field's order: 0 is x, 1 y, 2 z, 3 t. In memory and in files x is fastest, so the
/// dimension of an array (slowest first) that belongs to direction `mu` is 3 - mu.
inline constexpr int num_directions = 4;
using Extents = std::array<std::int64_t, num_directions>;
using RankGrid = std::array<int, num_directions>;

[[nodiscard]] constexpr std::size_t at(std::int64_t i) {
    return static_cast<std::size_t>(i);
}

/// One rank's part of a periodic 4-D lattice. A direction with more than one rank has a ghost layer on both
/// sides; in the others a neighbour across the edge is the site on the other side of the same block. Sites
/// are known by their *stored* index: their place in an array of `stored` extents, ghosts included.
class Geometry {
  public:
    /// Local. Ranks count through the grid in C order with t slowest (hakobi::split's order); the first
    /// `global % grid` parts of a direction are one site longer. Throws invalid_argument: an odd extent or
    /// one below 2 (sites could not be coloured even and odd), more than 2^26 sites, a grid that is not made
    /// of `num_ranks` ranks or has more ranks in a direction than sites.
    Geometry(const Extents& global, const RankGrid& grid, int num_ranks, int rank);

    [[nodiscard]] const Extents& global() const { return global_; }
    [[nodiscard]] const Extents& start() const { return start_; }  ///< of this rank's block
    [[nodiscard]] const Extents& count() const { return count_; }
    [[nodiscard]] const Extents& stored() const { return stored_; }
    [[nodiscard]] const RankGrid& grid() const { return grid_; }
    [[nodiscard]] bool is_split(int mu) const { return grid_[at(mu)] > 1; }
    [[nodiscard]] int num_ghosts(int mu) const { return is_split(mu) ? 1 : 0; }
    /// The rank one step up or down (`step` +1 or -1) in direction mu, around the torus.
    [[nodiscard]] int neighbour_rank(int mu, int step) const;

    [[nodiscard]] std::int64_t num_sites() const { return static_cast<std::int64_t>(sites_.size()); }
    [[nodiscard]] std::int64_t num_global_sites() const;
    [[nodiscard]] std::int64_t num_stored() const;

    /// This rank's sites in lexicographic order, x fastest: the order of files.
    [[nodiscard]] std::span<const std::int32_t> sites() const { return sites_; }
    /// The sites of a parity (0 even, 1 odd, by the sum of the global coordinates): those without a ghost
    /// among their neighbours, and the others.
    [[nodiscard]] std::span<const std::int32_t> interior(int parity) const { return interior_[at(parity)]; }
    [[nodiscard]] std::span<const std::int32_t> boundary(int parity) const { return boundary_[at(parity)]; }

    /// Eight entries a stored site: forward and backward in x, y, z, t. A ghost has only those that are
    /// stored, else -1: edges of the ghost layers count, so that a staple may go round a corner.
    [[nodiscard]] std::span<const std::int32_t> neighbours() const { return neighbours_; }
    [[nodiscard]] std::int32_t forward(std::int32_t site, int mu) const {
        return neighbours_[at(8 * std::int64_t{site} + 2 * mu)];
    }
    [[nodiscard]] std::int32_t backward(std::int32_t site, int mu) const {
        return neighbours_[at(8 * std::int64_t{site} + 2 * mu + 1)];
    }
    /// Coordinates in the whole lattice, and the place in lexicographic order there.
    [[nodiscard]] Extents global_coordinates(std::int32_t site) const;
    [[nodiscard]] std::int64_t global_index(std::int32_t site) const;

  private:
    void list_sites();
    void link_neighbours();

    Extents global_, start_, count_, stored_;
    RankGrid grid_, place_;
    std::vector<std::int32_t> sites_, neighbours_;
    std::array<std::vector<std::int32_t>, 2> interior_, boundary_;
};

/// How many ranks to use in each direction: `num_ranks` factored so that the blocks have the smallest
/// surface, over the directions named in `directions` ("xyzt", "yzt", …). Throws invalid_argument when none
/// fits.
[[nodiscard]] RankGrid choose_rank_grid(const Extents& global, int num_ranks, std::string_view directions);

/// "8x8x8x16"
[[nodiscard]] std::string to_string(const Extents& extents);
[[nodiscard]] std::string to_string(const RankGrid& grid);

}  // namespace hakobi::lattice
