#pragma once

#include <hakobi/comm.hpp>
#include <vector>

namespace hakobi::bench {

/// A rank's line to one peer: rank 0 has one to each partner, a partner has one to rank 0. Partners share no
/// line, so nothing here is collective over more than the two ranks of a line, or goes by way of rank 0.
struct Link {
    int peer = 0;  ///< in MPI_COMM_WORLD
    Comm pair;     ///< of the two; rank 0 of the world is rank 0 of it
    [[nodiscard]] int other() const { return 1 - pair.rank(); }
};

/// Collective over the world: this rank's links, by ascending peers.
[[nodiscard]] std::vector<Link> make_links();
/// Collective over the two ranks of each link.
void free_links(std::vector<Link>& links);

/// The least of all ranks' values, on all ranks; none leaves before all have come. Who waits sleeps: ranks of
/// other lines may need the core.
[[nodiscard]] int all_min(int value);

}  // namespace hakobi::bench
