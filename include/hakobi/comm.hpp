#pragma once

#include <hakobi/export.hpp>
#include <memory>

// The C++ bindings that MPI 3 deleted would make every user link a library of their own.
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace hakobi::mpi {
struct CommState;
}

namespace hakobi {
inline namespace v0 {

/// A private duplicate of a communicator, with the ranks' distribution over nodes. A node is the ranks of one
/// machine that can map each other's memory: ranks in containers of their own are nodes of their own.
/// Copies are cheap and refer to the same duplicate. Destruction never communicates; `free` does.
class HAKOBI_EXPORT Comm {
  public:
    Comm() = default;
    /// Duplicates `comm` and determines which of its ranks share a node. Collective over `comm`; MPI must be
    /// initialised (any thread level; Hakobi calls MPI only from the thread that calls Hakobi). Throws
    /// invalid_argument on every rank for an intercommunicator (MPI_Intercomm_merge makes an ordinary one),
    /// and for MPI_COMM_NULL; out_of_memory on every rank where MPI has no communicator left, if the error
    /// handler of `comm` lets it say so.
    [[nodiscard]] static Comm duplicate(MPI_Comm comm);

    /// Releases the duplicate. Collective over it; copies must not be used afterwards. Without this call the
    /// duplicate exists until MPI_Finalize.
    void free();

    [[nodiscard]] int rank() const noexcept;
    [[nodiscard]] int size() const noexcept;
    /// Number of nodes, this rank's node (0-based in order of the nodes' lowest ranks), and its place on that
    /// node.
    [[nodiscard]] int num_nodes() const noexcept;
    [[nodiscard]] int node() const noexcept;
    [[nodiscard]] int node_rank() const noexcept;
    [[nodiscard]] int node_size() const noexcept;
    /// The duplicate, for the caller's own messages; Hakobi's messages use other contexts.
    [[nodiscard]] MPI_Comm handle() const noexcept;
    [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

    /// For the library's own parts.
    [[nodiscard]] mpi::CommState& state() const noexcept { return *state_; }

  private:
    friend struct mpi::CommState;
    std::shared_ptr<mpi::CommState> state_;
};

}  // namespace v0
}  // namespace hakobi
