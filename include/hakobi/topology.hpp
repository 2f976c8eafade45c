#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <span>
#include <string>
#include <vector>

namespace hakobi {

/// Which rank takes which place of a Cartesian grid, and what that does to the traffic between nodes.
struct Reordering {
    std::vector<int> rank_at;  ///< of each place, in C order
    /// What goes from node to node in one exchange of all faces, in the weights' unit: with ranks in their order, and so.
    std::int64_t between_nodes_before = 0, between_nodes_after = 0;
    std::int64_t total = 0;  ///< and within nodes too
    /// "between nodes: 96 of 384 instead of 128 (25 % less)".
    [[nodiscard]] HAKOBI_EXPORT std::string text() const;
};

/// Which node, and which socket of it, each rank of a communicator is on. A value.
class HAKOBI_EXPORT Topology {
  public:
    /// Asks the machine: ranks that share memory are on one node; the socket is that of the core that a rank runs on, 0
    /// where the system does not say. Collective over `comm`.
    [[nodiscard]] static Topology discover(const Comm& comm);
    /// As declared: a node for each rank, counted from 0, and a socket for each, or none. Local, pure. Throws
    /// invalid_argument for negative numbers or lists of different lengths.
    [[nodiscard]] static Topology declare(std::span<const int> node_of_rank,
                                          std::span<const int> socket_of_rank = {});

    [[nodiscard]] int num_ranks() const noexcept { return static_cast<int>(nodes_.size()); }
    [[nodiscard]] int num_nodes() const noexcept;
    [[nodiscard]] int node_of(int rank) const { return nodes_.at(static_cast<std::size_t>(rank)); }
    [[nodiscard]] int socket_of(int rank) const { return sockets_.at(static_cast<std::size_t>(rank)); }

    /// Places for the ranks on a grid of `ranks` in each dimension, so that neighbours share memory where they can: each
    /// node takes a compact part of the grid, and each socket of it. `weights`: bytes of a face normal to each dimension;
    /// none: all alike. `is_periodic`: none: no dimension is. Never worse than the ranks' own order. Local, pure: equal on
    /// ranks that have equal topologies. Throws invalid_argument where the grid has not as many places as there are ranks.
    [[nodiscard]] Reordering reorder(std::span<const int> ranks, std::span<const std::int64_t> weights = {},
                                     const std::vector<bool>& is_periodic = {}) const;

  private:
    std::vector<int> nodes_, sockets_;
};

/// A communicator of the same ranks, numbered by their places: ranks of it form the grid in C order, as Halo wants them.
/// Collective over `comm`; `reordering` equal on all ranks.
[[nodiscard]] HAKOBI_EXPORT Comm reordered(const Comm& comm, const Reordering& reordering);

}  // namespace hakobi
