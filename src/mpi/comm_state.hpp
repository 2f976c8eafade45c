#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/forked.hpp"
#include "base/process.hpp"
#include "mpi/node_round.hpp"

namespace hakobi::mpi {

/// An object that another part keeps with a Comm until that is freed.
class Attachment {
  public:
    virtual ~Attachment() = default;
    /// Before any is freed: ends work that uses others. Collective over the Comm.
    virtual void finish(struct CommState& /*comm*/) {}
    /// Collective over the Comm.
    virtual void free() = 0;
};

/// The ranks that share memory with this one, itself among them, in their order.
struct OwnNode {
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0, size = 0;
    std::vector<ProcessId> processes;  ///< one a rank of `comm`
    NodeRound round;                   ///< there where these ranks exceed the machine's cores
};

/// Replaces MPI's collective calls for the ranks of a Comm that is apart from MPI (node/apart.hpp).
class NodeExchange {
  public:
    virtual ~NodeExchange() = default;
    /// Returns each rank's bytes, in rank order. Collective over the Comm; calls no MPI function.
    [[nodiscard]] virtual std::vector<std::vector<std::byte>> all_gather(std::span<const std::byte> mine) = 0;
};

/// The nodes: ranks that share memory. Nodes are in the order of their lowest ranks.
struct Nodes {
    int own = 0;                          ///< this rank's
    std::vector<int> of_rank;             ///< one entry a rank
    std::vector<std::vector<int>> ranks;  ///< of each node, ascending

    [[nodiscard]] int count() const noexcept { return static_cast<int>(ranks.size()); }
    [[nodiscard]] bool is_own(int rank) const { return of_rank[static_cast<std::size_t>(rank)] == own; }
    [[nodiscard]] const std::vector<int>& own_ranks() const { return ranks[static_cast<std::size_t>(own)]; }
};

/// The state that copies of a Comm share. `comm` is the caller's duplicate, `internal` the library's own
/// context.
struct CommState {
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Comm internal = MPI_COMM_NULL;
    /// The highest tag of `internal`: Wait probes for a message of that tag, and nobody sends one.
    int highest_tag = 32767;
    int rank = 0, size = 0;
    OwnNode node;
    Nodes nodes;
    /// For collectives of few words: null where the MPI library's own are as fast, or ranks are on several
    /// nodes.
    [[nodiscard]] NodeRound* round() {
        return nodes.count() == 1 && node.round.is_there() ? &node.round : nullptr;
    }
    std::vector<std::unique_ptr<Attachment>> attachments;  ///< in the same order on all ranks
    /// Set for a Comm that is apart from MPI: its ranks' threads may not call MPI, and its communicators are
    /// null.
    std::unique_ptr<NodeExchange> apart;
    Maker maker;  ///< whose threads serve it

    [[nodiscard]] static Comm as_comm(std::shared_ptr<CommState> state);

    /// The one of this type. Makes it where there is none: all ranks ask for it first in the same order.
    template <std::derived_from<Attachment> T>
    [[nodiscard]] T& attachment_of() {
        for (const std::unique_ptr<Attachment>& each : attachments) {
            if (auto* const found = dynamic_cast<T*>(each.get())) return *found;
        }
        auto made = std::make_unique<T>();
        T& result = *made;
        attachments.push_back(std::move(made));
        return result;
    }
};

/// MPI_Abort with the rank and `why` on stderr: for a rank that can neither go on nor tell the others, who
/// would wait for it.
[[noreturn]] void end_program(const std::string& why);
/// MPI_Abort with this line on stderr, and status 1.
[[noreturn]] void abort_all(const std::string& line);
/// `end_program` with call and MPI's text when a communication call failed: agreeing needs what broke.
void check(int mpi_error, const char* call);
/// The communicator that `make` has MPI make. Collective over `over`, of which all ranks call it: where MPI
/// gives one of them none, as when it has given out all that it has, they all throw the same out_of_memory.
/// The others' is lost then: to free it would take that rank.
[[nodiscard]] MPI_Comm made_by(const std::function<int(MPI_Comm* made)>& make, const char* call,
                               MPI_Comm over);

}  // namespace hakobi::mpi
