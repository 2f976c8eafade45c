#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>
#include <span>
#include <string>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// A mapping of ranks to the positions of a Cartesian grid, and its effect on the traffic between nodes.
struct Reordering {
    std::vector<int> rank_at;  ///< the rank at each position, positions in C order
    /// Traffic between nodes in one exchange of all faces, in the weights' unit: in the ranks' original
    /// order, and reordered.
    std::int64_t between_nodes_before = 0, between_nodes_after = 0;
    std::int64_t total = 0;  ///< including the traffic within nodes
    /// "between nodes: 96 of 384 instead of 128 (25 % less)".
    [[nodiscard]] HAKOBI_EXPORT std::string text() const;
};

/// The node and socket of each rank of a communicator.
class HAKOBI_EXPORT Topology {
  public:
    /// Determines it: ranks that share memory are on one node; the socket is that of the core on which a rank
    /// runs, or 0 if the system does not tell. Collective over `comm`.
    [[nodiscard]] static Topology discover(const Comm& comm);
    /// Takes it as declared: the node of each rank, counted from 0, and optionally its socket. Local, pure.
    /// Throws invalid_argument for negative numbers or lists of different lengths.
    [[nodiscard]] static Topology declare(std::span<const int> node_of_rank,
                                          std::span<const int> socket_of_rank = {});

    [[nodiscard]] int num_ranks() const noexcept { return static_cast<int>(nodes_.size()); }
    [[nodiscard]] int num_nodes() const noexcept;
    [[nodiscard]] int node_of(int rank) const { return nodes_.at(static_cast<std::size_t>(rank)); }
    [[nodiscard]] int socket_of(int rank) const { return sockets_.at(static_cast<std::size_t>(rank)); }

    /// Maps the ranks to a grid of `ranks` positions in each dimension so that neighbours share memory as far
    /// as possible: each node gets a compact part of the grid, and each socket a compact part of that.
    /// `weights`: bytes of a face normal to each dimension; empty: all equal. `is_periodic`: empty: no
    /// dimension is. The result is never worse than the original order. Local, pure: equal topologies give
    /// equal results. Throws invalid_argument if the grid does not have as many positions as there are ranks.
    [[nodiscard]] Reordering reorder(std::span<const int> ranks, std::span<const std::int64_t> weights = {},
                                     const std::vector<bool>& is_periodic = {}) const;

  private:
    std::vector<int> nodes_, sockets_;
};

/// A communicator of the same processes, renumbered so that its ranks form the grid in C order, as Halo
/// expects. Collective over `comm`; `reordering` equal on all ranks.
[[nodiscard]] HAKOBI_EXPORT Comm reordered(const Comm& comm, const Reordering& reordering);

}  // namespace v0
}  // namespace hakobi
