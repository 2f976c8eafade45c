#pragma once

#include <hakobi/comm.hpp>
#include <span>

#include "base/status.hpp"
#include "base/thread.hpp"
#include "io/node_parts.hpp"
#include "io/slots.hpp"
#include "node/node_window.hpp"
#include "node/team.hpp"

namespace hakobi::io {

/// The control block that the ranks of a node share for one open file (slots.hpp), as one of them sees it.
class SharedControl {
  public:
    /// Collective over the node's ranks: the leader lays the memory out. Nobody uses it before `join`, which
    /// follows a meeting of all ranks. Returns the same on the node.
    Status set_up(const Comm& comm);
    /// The size of the control block on a node of so many ranks. Pages that only long phases use stay
    /// untouched.
    [[nodiscard]] static std::int64_t bytes_needed(int node_size);
    void join();
    /// Local: gives the memory back, or puts it aside for the Comm's next file (collective over the node's
    /// ranks).
    void free() { window_.free(); }
    void keep() { node::NodeWindow::keep(comm_, window_); }

    [[nodiscard]] bool is_set_up() const { return block_ != nullptr; }
    [[nodiscard]] ControlBlock& block() const { return *block_; }
    [[nodiscard]] std::span<RankPlace> places() const { return places_; }
    /// One tally for each cycle of a phase. They are unset at first.
    [[nodiscard]] std::span<CycleTally> tallies() const { return tallies_; }
    [[nodiscard]] NodeParts node_parts() const { return {words_of_parts_, comm_.node_rank()}; }
    [[nodiscard]] RankPlace& own_place() const {
        return places_[static_cast<std::size_t>(comm_.node_rank())];
    }
    /// Where any rank of the node may run.
    [[nodiscard]] const CoreSet& cores() const { return cores_; }
    [[nodiscard]] node::Team& team() { return team_; }

  private:
    Comm comm_;
    node::NodeWindow window_;
    ControlBlock* block_ = nullptr;
    std::span<RankPlace> places_;
    std::span<CycleTally> tallies_;
    std::span<NodeParts::Bytes> words_of_parts_;
    CoreSet cores_ = {};
    node::Team team_;
};

}  // namespace hakobi::io
