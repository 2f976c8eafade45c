#pragma once

#include <array>
#include <cstdint>
#include <hakobi/halo.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace hakobi::exchange {

constexpr std::size_t most_halo_dims = 5;

/// Elements of one rank's block, counted from its first own element; ghosts have negative starts, or lie at
/// the extents and beyond.
struct Box {
    std::array<std::int64_t, most_halo_dims> start{}, count{};
    [[nodiscard]] std::int64_t num_elements(std::size_t num_dims) const;
    friend bool operator==(const Box&, const Box&) = default;
};

/// A ghost region and the own elements of a neighbour that belong there.
struct Transfer {
    int peer = -1;
    Box own;    ///< in the sender's block
    Box ghost;  ///< in the receiver's
};

/// All ranks' extents and what they share: what a plan is made of. Pure.
struct HaloGeometry {
    std::vector<GhostWidths> ghosts;
    std::vector<int> ranks;
    std::vector<bool> is_periodic;
    bool corners = true;
    std::vector<std::vector<std::int64_t>> extents;  ///< one entry a rank

    [[nodiscard]] std::size_t num_dims() const { return ranks.size(); }
    /// Return the transfers that `rank` receives, and those that it sends (`peer` is then the receiver).
    /// Between two ranks both lists have the same transfers in the same order.
    [[nodiscard]] std::vector<Transfer> received_by(int rank) const;
    [[nodiscard]] std::vector<Transfer> sent_by(int rank) const;
    /// invalid_argument, naming the rank: extents that differ in a line of ranks, or are fewer than the
    /// ghosts.
    [[nodiscard]] Status check() const;

  private:
    using Direction = std::array<int, most_halo_dims>;
    [[nodiscard]] std::vector<Direction> directions() const;
    [[nodiscard]] Direction position_of(int rank) const;
    [[nodiscard]] int neighbour_of(int rank, const Direction& direction, int sign) const;  // -1: none
    [[nodiscard]] Transfer transfer(int sender, int receiver, const Direction& direction) const;
};

/// Checks one rank's arguments by themselves.
[[nodiscard]] Status check_arguments(const HaloGrid& grid, std::span<const HaloField> fields, int num_ranks);

}  // namespace hakobi::exchange
