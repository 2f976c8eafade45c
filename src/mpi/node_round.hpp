#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <span>

#include "base/shared_memory.hpp"
#include "mpi/awaited_word.hpp"

namespace hakobi::mpi {

/// Collectives of a few words among a node's ranks, in memory that they share (decision 68). Where ranks
/// exceed cores each step of an MPI library's own takes as long as it takes until the rank that it waits for
/// has a core; here each rank needs one turn of a core:
///
///  1. A rank writes its row, and counts itself as arrived.
///  2. The last to arrive makes the result of the rows, and releases the others.
///  3. Each reads the result. Results are in two places in turn: the one of this round is written to again in
///     the round after the next, which nobody enters before all have read it.
///
/// Waiting progresses MPI (wait.hpp). Thread rule: one thread a rank.
class NodeRound {
  public:
    static constexpr std::size_t row_bytes = 128, most_bytes = 4096;

    NodeRound() = default;
    /// The memory needed for so many ranks; it must be zero at first.
    [[nodiscard]] static std::int64_t bytes_needed(int num_ranks);
    NodeRound(SharedMemory memory, int rank, int num_ranks);
    [[nodiscard]] bool is_there() const noexcept { return shared_ != nullptr; }

    // All collective over the node's ranks, with arguments of the same length.

    /// `bytes`, row_bytes at most, become what `into` makes of all ranks': `into(result, row)` is called for
    /// each but the first.
    template <class Into>
    void reduce(const Comm& comm, std::span<std::byte> bytes, Into into) {
        write(bytes);
        const std::span<const std::byte> result = meet(comm, [&](std::span<std::byte> made) {
            const std::span<std::byte> sum = made.first(bytes.size());
            copy(row(0).first(bytes.size()), sum);
            for (int rank = 1; rank < num_ranks_; ++rank) into(sum, row(rank).first(bytes.size()));
        });
        copy(result.first(bytes.size()), bytes);
    }
    /// `bytes` becomes that of `root`; most_bytes at most.
    void broadcast(const Comm& comm, std::span<std::byte> bytes, int root);

  private:
    struct Shared {
        alignas(64) SharedAtomic<std::uint32_t> num_arrived;
        alignas(64) AwaitedWord released;  ///< rounds that are over
        alignas(64) std::array<std::array<std::byte, most_bytes>, 2> results;
        // A row of row_bytes for each rank follows.
    };
    static void copy(std::span<const std::byte> from, std::span<std::byte> to);
    [[nodiscard]] std::span<std::byte> row(int rank) const;
    void write(std::span<const std::byte> bytes) const { copy(bytes, row(rank_)); }
    [[nodiscard]] std::span<std::byte> result() const { return shared_->results[num_rounds_ % 2]; }

    /// The result, once the last rank has called `work` with it.
    template <class Work>
    std::span<const std::byte> meet(const Comm& comm, Work work) {
        const std::span<std::byte> made = result();
        const std::uint32_t before = num_rounds_++;
        if (shared_->num_arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(num_ranks_)) {
            work(made);
            shared_->num_arrived.store(0, std::memory_order_relaxed);
            shared_->released.word.fetch_add(1);
            shared_->released.wake();
        } else {
            shared_->released.wait(comm, patience, [before](std::uint32_t n) { return n != before; });
        }
        return made;
    }

    /// Where ranks exceed cores the one that is waited for needs this core: giving way is cheaper than
    /// sleeping.
    static constexpr Patience patience{.spins = 20, .yields = 16};

    SharedMemory memory_;
    Shared* shared_ = nullptr;
    int rank_ = 0, num_ranks_ = 1;
    std::uint32_t num_rounds_ = 0;  // that this rank has entered
};

}  // namespace hakobi::mpi
