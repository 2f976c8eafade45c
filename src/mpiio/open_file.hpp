#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>

#include "base/descriptor.hpp"
#include "io/engine.hpp"
#include "mpiio/comm_pool.hpp"
#include "mpiio/file_pointer.hpp"
#include "mpiio/library_view.hpp"
#include "mpiio/view.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::mpiio {

/// Why a data access of a file that the drop-in knows went to the MPI library.
enum class Passed {
    independent,     ///< not a collective call
    nonblocking,     ///< a nonblocking collective call: it may not wait for other ranks, the engine does
    shared_pointer,  ///< the shared file pointer is the MPI library's
    mode,  ///< atomic mode, another data representation than native, or a direction the file is not open for
    pattern,  ///< this rank's part could not be described; the other ranks' parts went through the engine
    file,     ///< the file as a whole: OpenFile::why_not
};
inline constexpr std::size_t num_passed = 6;

/// What happened to a file on this rank. Any thread adds.
struct Counts {
    std::atomic<std::int64_t> writes{0}, reads{0};  ///< collective calls that the engine took
    std::int64_t views = 0, late_views = 0;  ///< that the program set; of them kept from the library at first
    std::array<std::atomic<std::int64_t>, num_passed> passed{};
    void take(bool is_write) { (is_write ? writes : reads).fetch_add(1, std::memory_order_relaxed); }
    /// Such a call passed after all, with its file.
    void untake(bool is_write) {
        (is_write ? writes : reads).fetch_sub(1, std::memory_order_relaxed);
        add(Passed::file);
    }
    void add(Passed why) { passed[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }
};

/// The same for all handles of a file on this node; none where `inode` is 0.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const FileIdentity&) const = default;
};

/// A file that the program has open: the drop-in's side of an MPI_File. The real handle is the MPI library's
/// and stays in use for everything that passes; size, info and errors are kept there as well.
struct OpenFile {
    MPI_File handle = MPI_FILE_NULL;
    std::shared_ptr<FileComm> comms;
    int rank = 0, num_ranks = 1;
    std::string name;       ///< as the program gave it
    std::string path;       ///< absolute, without a file system prefix
    Descriptor descriptor;  ///< of `path` when the file was opened
    FileIdentity identity;  ///< what it leads to
    std::once_flag lock_opened;
    Descriptor lock;  ///< for WriterLock: made by the first write that wants one
    bool can_read = false, can_write = false;
    std::atomic<bool> was_read_alone =
        false;  ///< or written without end, by a rank's own call through any of its handles
    std::atomic<bool> has_unfinished_writes =
        false;                 ///< such calls that the program completes later: they hold no lock
    bool is_reported = false;  ///< print a profile or an explanation at close; equal on all ranks

    // Equal on all ranks.
    std::string why_not;  ///< the engine does not take this file: the reason; empty when it does
    bool is_atomic = false;
    bool is_native = true;                ///< the view's data representation
    bool has_late_views = false;          ///< the library gets views when it needs them
    bool has_unsynced_writes = false;     ///< by the engine
    bool has_nonblocking_writes = false;  ///< collective ones, which may not be completed (entry.hpp)
    bool has_passed_accesses = false;     ///< others may be in them still: the next taken call waits

    View view;
    LibraryView library_view;
    FilePointer pointer;
    Hints hints;                         ///< what the program passed that the engine knows
    std::unique_ptr<io::Engine> engine;  ///< made by the first collective access
    std::shared_mutex engine_use;        ///< shared: an OwnAccess; whole: `engine` gets or loses its engine
    io::EngineCounters closed_counters;  ///< of engines that were closed after an error

    /// The split collective call that has begun and not ended. MPI allows one a file.
    enum class Split { none, taken, passed } split = Split::none;
    std::int64_t split_bytes = 0;  ///< of this rank's, where the engine took it

    Counts counts;

    /// Names the file that was opened, whatever has become of its path.
    [[nodiscard]] std::string opened_path() const {
        return "/proc/self/fd/" + std::to_string(descriptor.get());
    }
    [[nodiscard]] bool is_taken() const noexcept {
        return why_not.empty() && !is_atomic && is_native && !has_nonblocking_writes;
    }
};

/// While one exists this rank accesses the file by itself, through the MPI library, before it comes to the next collective
/// call: other ranks' early writes in that must not be what it reads or writes over (io::Engine::ForeignWrite,
/// wait_for_all_ranks). Holds for all handles that this rank has of the file: PnetCDF, for one, writes for one rank by a
/// second handle, and for all by the first. Local; any thread.
class OwnAccess {
  public:
    /// `ends_later`: it may last beyond this, until the program completes it. Then nobody goes ahead any more, as after
    /// a read.
    OwnAccess(OpenFile& file, bool is_write, bool ends_later = false);

  private:
    std::optional<storage::WriterLock> lock_;
    struct OfHandle {
        explicit OfHandle(std::shared_ptr<OpenFile> file);
        std::shared_ptr<OpenFile> file;  // another thread may close it meanwhile
        std::shared_lock<std::shared_mutex> lock;
        std::optional<io::Engine::ForeignWrite> write;
    };
    std::list<OfHandle> handles_;  // writing
};

/// Before a data access of all the file's ranks that passes. They leave it one before another, and what a rank is still in
/// must not meet early writes of a call that the engine takes next: the MPI library may write back bytes that it had read
/// around the rank's own, or have some to read. Through this handle that call waits for all ranks; by other handles of
/// this rank nobody goes ahead any more, and those who have done so are through on return. Local; holds no lock on return,
/// since the access may wait for ranks whose other threads want it.
void pass_before_early_writes(OpenFile& file);

/// Of all engines that the file has had. Local.
[[nodiscard]] io::EngineCounters total_counters(const OpenFile& file);

/// The files that are open, by handle. They live until they are removed, never destroyed by the end of the
/// process: a forked child and an exit without MPI_File_close leave them as they are.
OpenFile* find_file(MPI_File handle);
OpenFile* add_file(std::unique_ptr<OpenFile> file);
/// Null when the handle is not known.
std::shared_ptr<OpenFile> remove_file(MPI_File handle);

}  // namespace hakobi::mpiio
