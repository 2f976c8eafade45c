#pragma once

#include <atomic>
#include <hakobi/hints.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>

#include "base/descriptor.hpp"
#include "io/engine.hpp"
#include "mpiio/file_facts.hpp"

namespace hakobi::mpiio {

/// The engine's side of an open file. Invariant: there is an engine only where `why_not` is empty; it is made
/// by the first collective access, and after an error by the next one.
class EngineSide {
  public:
    std::string why_not;  ///< why the engine does not take this file; empty when it does. Equal on all ranks
    Hints hints;          ///< what the program passed that the engine knows
    bool has_unsynced_writes = false;  ///< collective ones by the engine; equal on all ranks

    /// Null: there is none now. Equal on all ranks in that.
    [[nodiscard]] io::Engine* engine() const noexcept { return engine_.get(); }
    /// Makes the engine. Collective over the file's communicator; the options of rank 0 hold. Returns the
    /// engine's error, equal on all ranks; then there is none.
    mpi::Agreed open(const FileFacts& facts, const io::EngineOptions& options, bool is_path_shown);
    /// Closes the engine, also one that has failed: MPI lets the program go on (it may have made space).
    /// Collective.
    mpi::Agreed close();
    /// Summed over all engines that the file has had. Local.
    [[nodiscard]] io::EngineCounters counters() const;

    /// Seconds that closing took, where hidden writes may have been under way; nothing where there were none.
    [[nodiscard]] std::optional<double> closing_s() const { return closing_s_; }

    /// Waits until the node's other ranks are through with the collective calls that this one is through
    /// with: before it looks at the file by itself. Local; any thread.
    void wait_for_left_calls();
    /// From now on no collective call of this rank fills holes: it has writes of its own under way, without a
    /// lock. Local; any thread.
    void leave_holes();
    /// Hidden writes of the engine (hidden.hpp): whether bytes of the range are under way; behind the last
    /// one that is, or 0; waits until none is. Local; any thread.
    [[nodiscard]] bool has_hidden(std::int64_t begin_bytes, std::int64_t end_bytes);
    [[nodiscard]] std::int64_t hidden_end_bytes();
    /// The first error on this node of what was left behind; nothing where it has been told. Local; any
    /// thread.
    [[nodiscard]] ErrorCode left_error();
    [[nodiscard]] bool defer(std::span<const std::byte> bytes, std::int64_t offset);
    void wait_for_hidden();
    void wait_for_hidden_apart();  // without a call of MPI
    /// A descriptor for storage::WriterLock, opened by the first call; -1 where the file cannot be read.
    /// Local; any thread.
    [[nodiscard]] int lock_descriptor(const FileFacts& facts);

  private:
    std::unique_ptr<io::Engine> engine_;
    std::shared_mutex use_;  ///< shared: a call of one rank uses `engine_`; whole: `engine_` changes
    io::EngineCounters closed_counters_;
    std::optional<double> closing_s_;
    std::atomic<bool> leaves_holes_ = false;
    std::once_flag lock_opened_;
    Descriptor lock_;
};

}  // namespace hakobi::mpiio
