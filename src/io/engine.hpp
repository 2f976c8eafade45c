#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <optional>
#include <span>

#include "io/counters.hpp"
#include "io/opened_file.hpp"
#include "io/options.hpp"
#include "io/request.hpp"
#include "mpi/agree.hpp"
#include "region/region.hpp"

namespace hakobi::io {

class HiddenWrites;

/// Collective reads and writes of one open file: two-phase I/O whose shuffle and file access overlap.
///
/// All member functions except `counters` and the destructor are collective over the communicator of `open`.
/// Each returns the same Agreed status on every rank. The destructor does not communicate; `close` first.
class Engine {
    struct Impl;

  public:
    /// The longest call that `move_ahead` may take: longer ones do not notice the way through regions.
    static constexpr std::int64_t most_bytes_ahead = (std::int64_t{16} << 10) - 1;

    /// The options of rank 0 hold for all ranks. Between this call and the first on the engine nobody else
    /// writes.
    static mpi::Agreed open(const Comm& comm, const EngineFile& file, const EngineOptions& options,
                            std::unique_ptr<Engine>& engine);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Writes the n-th byte of `memory` (offsets from `origin`, which may be null when the region holds
    /// absolute addresses) to the n-th byte of `file` (offsets from the start of the file, ordered): sizes
    /// equal, else invalid_argument. `local` is an error that this rank brings along: it takes part with
    /// nothing and everybody gets the error. Bytes outside the regions are not touched. Where ranks overlap,
    /// one of them wins a byte. `device`: what of the memory is a device's, on this rank, which copies it;
    /// null: nothing. It has copied when the call returns.
    mpi::Agreed write_all(const Region& file, const std::byte* origin, const Region& memory,
                          const Status& local = {}, DeviceMemory* device = nullptr);
    /// The same without the wait for storage: returns when this rank's bytes are out of its memory. The next
    /// collective call, or `wait`, reports what storage said. `when_stored`: on all ranks or on none, alike;
    /// the writers are some of the ranks, and once each of them was told, all bytes of the call are stored.
    mpi::Agreed start_write_all(const Region& file, const std::byte* origin, const Region& memory,
                                const Status& local = {}, const WhenStored& when_stored = {},
                                DeviceMemory* device = nullptr);
    mpi::Agreed wait();
    /// write_all for a program that does not know of hidden writes: the same without the wait for storage
    /// where `may_hide` and the storage makes requests wait. Later calls of this kind do not wait for it,
    /// unless they write the same bytes; all others do. The first to come after an error reports it, and has
    /// done nothing then.
    mpi::Agreed write_all_electively(const Region& file, const std::byte* origin, const Region& memory,
                                     const Status& local = {});
    /// Whether such a call may be hidden on this file; equal on all ranks. Local.
    [[nodiscard]] bool may_hide() const;
    /// For ranks that must see, or come behind, what is under way. Local; hidden_writes.hpp has the threads.
    [[nodiscard]] HiddenWrites& hidden_writes();
    /// The error that this rank knows of and no call has reported. Local.
    [[nodiscard]] ErrorCode hidden_error() const;
    /// Waits for this rank's accesses, and takes their error from the call that would have reported it.
    /// Local; where no collective call comes any more.
    [[nodiscard]] Status take_hidden_error();
    /// Before the program goes on as if the file were whole: HiddenWrites::hold for what this rank has under
    /// way. Returns false where nothing is, by now: where that cannot be it waits. Local.
    bool leave_behind(std::function<void(bool is_stored)> at_end);
    /// The first error of what ranks of this node left behind so. Local.
    [[nodiscard]] ErrorCode left_error() const;
    /// Whether this rank's accesses for such a call are over. Local.
    [[nodiscard]] bool is_stored() const;
    /// Whether this rank accesses the file for others. Local.
    [[nodiscard]] bool is_aggregator() const;
    /// Waits until they are; what storage said stays for the next collective call, or `close`. Returns
    /// EngineCounters::storage_end_s. Local.
    double wait_for_own_storage();
    /// The other direction. `bytes_read` is this rank's count, less than the region's size where the file
    /// ends earlier; memory behind it is left as it was.
    mpi::Agreed read_all(const Region& file, std::byte* origin, const Region& memory,
                         std::int64_t& bytes_read, const Status& local = {}, DeviceMemory* device = nullptr);
    /// A collective call of which this rank has one contiguous piece, where it may go without a meeting
    /// (ahead.hpp) and is short: carried out, with this rank's own error. Without a value nothing was done:
    /// the call is write_all's or read_all's. `bytes` is only read from by a write.
    [[nodiscard]] std::optional<Status> move_ahead(bool is_write, std::int64_t offset,
                                                   std::span<std::byte> bytes, std::int64_t& bytes_moved);
    mpi::Agreed sync();
    mpi::Agreed close();

    [[nodiscard]] EngineCounters counters() const;
    [[nodiscard]] const EngineOptions& options() const;
    /// False after a call has failed because collective buffers or their I/O threads cannot be had: any other
    /// would too. Equal on all ranks.
    [[nodiscard]] bool is_usable() const;

    /// Waits until the node's other ranks are through with the calls that this one is through with. Before an
    /// access of this rank alone: its own calls keep their order, and another library, which may write back
    /// bytes around its own, meets nobody. Ranks that run ahead of each other meet again. Local, any thread.
    void wait_for_left_calls();
    /// From now on no call of any rank fills holes: this rank has writes of its own under way that take no
    /// lock. Local, any thread.
    void leave_holes();

  private:
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi::io
