#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>

#include "base/futex.hpp"
#include "base/status.hpp"
#include "mpi/wait.hpp"
#include "node/node_window.hpp"

namespace hakobi::exchange {

/// Two words for each pair of a node's ranks, in memory that they share: how they tell each other how far
/// they are with one exchange object. Exchanges are numbered from 1 on, on each rank by itself; the words
/// only grow.
///
///  1. A rank says `set_ready(e)` when what it gives in exchange e may be read, and its ghosts may be written
///     to.
///  2. The rank that copies for a pair (the reader pulls, or the writer deposits) waits for the other's
///     `is_ready(e)`, copies, and says `set_done(e)` to it.
///  3. Exchange e is over for a rank when every rank that copies from or to its memory has said so.
class NodeChannel {
  public:
    NodeChannel() = default;
    /// Collective over the node's ranks of `comm`; `note_bytes` equal on them: of memory that each rank has
    /// for what the others are to know. Returns alike on the node.
    static Status create(const Comm& comm, std::int64_t note_bytes, NodeChannel& channel);

    /// A rank's note, by node rank; written before a barrier, read after it.
    [[nodiscard]] std::byte* note(int node_rank) const;

    void set_ready(std::uint32_t exchange);
    [[nodiscard]] bool is_ready(int node_rank, std::uint32_t exchange) const;
    void set_done(int node_rank, std::uint32_t exchange);
    [[nodiscard]] bool is_done(int node_rank, std::uint32_t exchange) const;

    /// Wakes that rank, if it sleeps.
    void ring(int node_rank);
    /// The value that `pause` compares with; read it before the words that you wait for.
    [[nodiscard]] std::uint32_t bell() const;
    /// A pause of `wait`, which ends when somebody rings; returns at once when that happened since `bell` was
    /// read.
    void pause(mpi::Wait& wait, std::uint32_t bell);

  private:
    struct alignas(64) Head {
        FutexWord ready, bell, num_sleeping;
    };
    [[nodiscard]] Head& head(int node_rank) const;
    [[nodiscard]] FutexWord& done(int by_node_rank, int to_node_rank) const;

    node::NodeWindow window_;
    int me_ = 0, size_ = 1;
    std::int64_t row_bytes_ = 0, note_bytes_ = 0;
};

}  // namespace hakobi::exchange
