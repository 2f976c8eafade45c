#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <vector>

#include "base/shared_memory.hpp"
#include "base/status.hpp"

namespace hakobi::node {

/// Memory that all ranks of a node map (base/shared_memory.hpp); zero when it is allocated, pages taken when
/// they are first touched, large ones where the kernel gives them. A Comm's nodes are the ranks that can have
/// it (mpi/comm.cpp).
class NodeWindow {
  public:
    NodeWindow() = default;
    /// Collective over the node's ranks of `comm`; `bytes` equal on all of them. Afterwards each rank has the
    /// whole memory at `data()`. Returns an error alike on the node: out_of_memory where there is too little.
    static Status allocate(const Comm& comm, std::int64_t bytes, NodeWindow& window);
    /// Local; the memory goes with the last rank's mapping.
    void free();
    /// As `allocate`, but takes memory of at least `bytes` that `keep` has put aside for `comm`, if there is
    /// some, without a message. Contents are left over.
    static Status take(const Comm& comm, std::int64_t bytes, NodeWindow& window);
    /// Puts the memory aside for the next `take` on the same Comm, or frees it when enough is kept;
    /// Comm::free frees what is left. Collective over the node's ranks.
    static void keep(const Comm& comm, NodeWindow& window);

    /// Collective over the node's ranks of `comm`.
    static void barrier(const Comm& comm);

    /// Call before writing the `bytes` from `begin` on for the first time: this process then maps many pages
    /// with one fault where it would take one fault a page (decision 7). Ranks that are about to write the
    /// same bytes begin at different places, `part` of `num_parts` each, so that each finds memory for its
    /// own part and the others' is there when it comes to them. Costs next to nothing where it has been done
    /// before; does nothing on kernels that cannot. Local.
    void map_pages(const std::byte* begin, std::int64_t bytes, int part, int num_parts);

    [[nodiscard]] std::byte* data() const noexcept { return memory_.data(); }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }

  private:
    void map_units(std::uintptr_t from, std::uintptr_t to);

    SharedMemory memory_;
    std::int64_t size_bytes_ = 0;
    std::vector<bool> is_mapped_;  // of each unit of memory: see map_pages
};

}  // namespace hakobi::node
