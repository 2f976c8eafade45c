#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mpi/agree.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

/// The file of an engine. It must exist (the caller made it).
struct EngineFile {
    std::string path;  ///< by which this rank opens it, when it has to; may differ between ranks
    bool is_writable = false;
    std::string shown = path;  ///< what messages call it
    /// Ranks of one node that move their own pieces do not wait for each other's errors, as MPI lets them: what such a call
    /// returns is the rank's own (Agreed::is_own). Equal on all ranks.
    bool has_own_errors = false;
};

/// How the engine works on a file. docs/hints.md has the table.
struct EngineOptions {
    int cb_nodes = 0;                  ///< aggregators in all; 0: aggregators_per_node on every node
    int aggregators_per_node = 0;      ///< "*:n" of cb_config_list; 0: chosen
    std::int64_t cb_buffer_bytes = 0;  ///< one collective buffer; 0: chosen
    int depth = 0;                   ///< collective buffers in flight an aggregator (hakobi_depth); 0: chosen
    int io_threads = 0;              ///< I/O threads an aggregator (hakobi_io_threads); 0: chosen
    std::string access = "threads";  ///< "threads", "uring" or "posix" (hakobi_access)
    std::string shuffle = "auto";    ///< "auto", "always" or "never" (hakobi_shuffle)
    std::int64_t striping_unit_bytes = 0;  ///< alignment of file domains; 0: asks the storage
    std::int64_t async_budget_bytes =
        256 << 20;  ///< asynchronous writes: collective buffers a node (hakobi_async_budget)
    /// "auto": holes of a write are read and written back under a lock where that is cheaper than an access for each
    /// run; "untouched": never (hakobi_holes, romio_ds_write).
    std::string holes = "auto";
    bool direct_io = false;  ///< O_DIRECT (hakobi_direct_io)
    bool profile = false;    ///< a table of the counters on stderr at close (hakobi_profile)
};

/// Collective: rank 0's, on every rank. `internal` on a rank that cannot read them.
[[nodiscard]] Result<EngineOptions> options_of_rank_0(const Comm& comm, const EngineOptions& options);
/// Equal for equal options, and hardly for others; not negative. Local.
[[nodiscard]] std::int64_t fingerprint(const EngineOptions& options);
/// Options from hints over HAKOBI_HINTS over the defaults. invalid_argument for a value that cannot be read; unknown
/// names are appended to `warnings`, names that MPI-IO reserves but the engine has no use for are not.
Result<EngineOptions> engine_options(const Hints& hints, std::vector<std::string>& warnings);
/// The values in force as hints: the same names, all of them set.
[[nodiscard]] Hints hints_of(const EngineOptions& options);

/// What one rank's calls on one engine cost so far; local.
struct EngineCounters {
    std::int64_t calls = 0, cycles = 0, direct_calls = 0;
    std::int64_t user_bytes = 0;    ///< bytes of this rank's requests
    std::int64_t copied_bytes = 0;  ///< bytes that this rank copied between its memory and collective buffers
    std::int64_t pieces = 0;        ///< contiguous runs of those requests in the file
    std::int64_t messages = 0;      ///< messages between nodes that this rank sent
    std::int64_t message_bytes = 0;
    std::int64_t storage_bytes = 0;  ///< bytes that this rank's threads moved to or from storage
    std::int64_t filled_bytes = 0;   ///< of that: read back to be written around holes
    double call_s = 0;               ///< inside collective calls
    double plan_s = 0;               ///< of that: describing and planning
    double copy_s = 0;               ///< of that: copying between memory and collective buffers
    double wait_buffer_s =
        0;                   ///< of that: waiting for a free collective buffer or for one that storage fills
    double wait_peer_s = 0;  ///< of that: waiting for other ranks
    double storage_s = 0;    ///< summed over I/O threads: inside file accesses
    double storage_end_s = 0;  ///< when the last of the pipeline's was over, on now_s(); 0: none
};

/// Told to a writer when all that it stores of one call is stored: the file that it wrote to, and which writer it is of how
/// many. Called once on each writer, on any thread, before the call's `wait` returns; not after an error of that writer.
using WhenStored = std::function<void(storage::File& file, int writer, int num_writers)>;

/// Collective reads and writes of one open file: two-phase I/O whose shuffle and file access overlap.
///
/// All member functions except `counters` and the destructor are collective over the communicator of `open`. Each
/// returns the same Agreed status on every rank. The destructor does not communicate; `close` first.
class Engine {
    struct Impl;

  public:
    /// Of a call that `move_ahead` may take: longer ones do not notice the way through regions.
    static constexpr std::int64_t most_bytes_ahead = (std::int64_t{16} << 10) - 1;

    /// The options of rank 0 hold for all ranks. Between this call and the first on the engine nobody else writes.
    static mpi::Agreed open(const Comm& comm, const EngineFile& file, const EngineOptions& options,
                            std::unique_ptr<Engine>& engine);
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    /// Writes the n-th byte of `memory` (offsets from `origin`, which may be null when the region holds absolute
    /// addresses) to the n-th byte of `file` (offsets from the start of the file, ordered): sizes equal, else
    /// invalid_argument. `local` is an error that this rank brings along: it takes part with nothing and everybody
    /// gets the error. Bytes outside the regions are not touched. Where ranks overlap, one of them wins a byte.
    mpi::Agreed write_all(const Region& file, const std::byte* origin, const Region& memory,
                          const Status& local = {});
    /// The same without the wait for storage: returns when this rank's bytes are out of its memory. The next
    /// collective call, or `wait`, reports what storage said. `when_stored`: on all ranks or on none; the writers are some of
    /// the ranks, and once each of them was told, all bytes of the call are stored.
    mpi::Agreed start_write_all(const Region& file, const std::byte* origin, const Region& memory,
                                const Status& local = {}, const WhenStored& when_stored = {});
    mpi::Agreed wait();
    /// Whether this rank's accesses for such a call are over. Local.
    [[nodiscard]] bool is_stored() const;
    /// Waits until they are; what storage said stays for the next collective call, or `close`. Returns
    /// EngineCounters::storage_end_s. Local.
    double wait_for_own_storage();
    /// The other direction. `bytes_read` is this rank's count, less than the region's size where the file ends
    /// earlier; memory behind it is left as it was.
    mpi::Agreed read_all(const Region& file, std::byte* origin, const Region& memory,
                         std::int64_t& bytes_read, const Status& local = {});
    /// A collective call of which this rank has one contiguous piece, where it may go without a meeting (ahead.hpp) and is
    /// short: carried out, with this rank's own error. Without a value nothing was done: the call is write_all's or read_all's.
    /// `bytes` is only read from by a write.
    [[nodiscard]] std::optional<Status> move_ahead(bool is_write, std::int64_t offset,
                                                   std::span<std::byte> bytes, std::int64_t& bytes_moved);
    mpi::Agreed sync();
    mpi::Agreed close();

    [[nodiscard]] EngineCounters counters() const;
    [[nodiscard]] const EngineOptions& options() const;
    /// False after a call has failed because collective buffers or their I/O threads cannot be had: any other would too.
    /// Equal on all ranks.
    [[nodiscard]] bool is_usable() const;

    /// Waits until the node's other ranks are through with the calls that this one is through with. Before an access of this rank
    /// alone: its own calls keep their order, and another library, which may write back bytes around its own, meets nobody.
    /// Ranks that run ahead of each other meet again. Local, any thread.
    void wait_for_left_calls();
    /// From now on no call of any rank fills holes: this rank has writes of its own under way that take no lock. Local, any
    /// thread.
    void leave_holes();

  private:
    explicit Engine(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi::io
