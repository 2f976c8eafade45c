#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <vector>

#include "base/shared_memory.hpp"
#include "base/status.hpp"

namespace hakobi::node {

/// Memory that all ranks of a node map; not initialised, pages taken when they are first touched. It is the system's own
/// shared memory (base/shared_memory.hpp), which comes in large pages where the kernel gives them, or MPI's where some
/// rank cannot have that. The destructor does not communicate and leaves MPI's memory to MPI_Finalize; `free` releases
/// both.
class NodeWindow {
  public:
    NodeWindow() = default;
    /// Collective over the node's ranks of `comm`; `bytes` equal on all of them. Afterwards each rank has the whole
    /// memory at `data()`. Returns out_of_memory alike on the node when MPI cannot provide it either.
    static Status allocate(const Comm& comm, std::int64_t bytes, NodeWindow& window);
    /// The same with MPI's memory, whatever the system has.
    static Status allocate_by_mpi(const Comm& comm, std::int64_t bytes, NodeWindow& window);
    /// Collective over the node's ranks.
    void free();
    /// As `allocate`, but takes memory of at least `bytes` that `keep` has put aside for `comm`, if there is some, without a
    /// message. Contents are left over.
    static Status take(const Comm& comm, std::int64_t bytes, NodeWindow& window);
    /// Puts the memory aside for the next `take` on the same Comm, or frees it when enough is kept; Comm::free frees
    /// what is left. Collective over the node's ranks.
    static void keep(const Comm& comm, NodeWindow& window);

    /// Collective over the node's ranks of `comm`.
    static void barrier(const Comm& comm);

    /// Call before writing the `bytes` from `begin` on for the first time: this process then maps many pages with one
    /// fault where it would take one fault a page (decision 7). Ranks that are about to write the same bytes begin at
    /// different places, `part` of `num_parts` each, so that each finds memory for its own part and the others' is there
    /// when it comes to them. Costs next to nothing where it has been done before; does nothing on kernels that cannot.
    /// Local.
    void map_pages(const std::byte* begin, std::int64_t bytes, int part, int num_parts);

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
    /// Whether all of it was zero when it was allocated: its pages need not be touched for that.
    [[nodiscard]] bool is_zero() const noexcept { return memory_.data() != nullptr; }

  private:
    void map_units(std::uintptr_t from, std::uintptr_t to);

    SharedMemory memory_;
    MPI_Win window_ = MPI_WIN_NULL;  // where `memory_` is not to be had
    std::byte* data_ = nullptr;
    std::int64_t size_bytes_ = 0;
    std::vector<bool> is_mapped_;  // of each unit of memory: see map_pages
};

}  // namespace hakobi::node
