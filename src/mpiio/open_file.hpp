#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
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
    mode,            ///< atomic mode, or another data representation than native
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

/// A file that the program has open: the drop-in's side of an MPI_File. `handle` is the program's, and what error handlers
/// hang on: the MPI library's handle of the file, or a stand-in where the library opens the file when it needs to
/// (library_view.hpp has the library's own then).
struct OpenFile {
    MPI_File handle = MPI_FILE_NULL;
    std::shared_ptr<FileComm> comms;
    int rank = 0, num_ranks = 1, mode = 0;
    bool is_late = false;            ///< `handle` is a stand-in; equal on all ranks
    bool has_used_stand_in = false;  ///< it has another view
    std::string name;                ///< as the program gave it
    Descriptor descriptor;           ///< of what `name` led to when the file was opened; not for access
    FileIdentity identity;           ///< what that is
    Descriptor folder;  ///< in the path by which the library opened it, where its name was too long
    std::once_flag lock_opened;
    Descriptor lock;  ///< for WriterLock: made by the first write that wants one
    bool can_read = false, can_write = false;
    std::atomic<bool> has_unfinished_writes =
        false;                 ///< of a rank alone, which the program completes later: they hold no lock
    bool is_reported = false;  ///< print a profile or an explanation at close; equal on all ranks

    // Equal on all ranks.
    std::string why_not;  ///< the engine does not take this file: the reason; empty when it does
    bool is_atomic = false;
    bool is_native = true;                ///< the view's data representation
    bool has_late_views = false;          ///< the library gets views when it needs them
    bool has_unsynced_writes = false;     ///< by the engine
    bool has_nonblocking_writes = false;  ///< collective ones, which may not be completed (entry.hpp)

    View view;
    LibraryView library_view;
    FilePointer pointer;
    Hints hints;                         ///< what the program passed that the engine knows
    std::unique_ptr<io::Engine> engine;  ///< made by the first collective access
    std::shared_mutex engine_use;        ///< shared: leave_holes; whole: `engine` gets or loses its engine
    io::EngineCounters closed_counters;  ///< of engines that were closed after an error

    /// The split collective call that has begun and not ended. MPI allows one a file.
    enum class Split { none, taken, passed } split = Split::none;
    std::int64_t split_bytes = 0;  ///< of this rank's, where the engine took it

    Counts counts;

    /// Names the file that was opened, whatever has become of its path.
    [[nodiscard]] std::string opened_path() const {
        return "/proc/self/fd/" + std::to_string(descriptor.get());
    }
    /// How large it is now; -1 where POSIX calls do not say.
    [[nodiscard]] std::int64_t size_bytes() const;
    /// Its absolute path, without symbolic links. Empty where it has none.
    [[nodiscard]] std::string real_path() const;
    [[nodiscard]] bool is_taken() const noexcept {
        return why_not.empty() && !is_atomic && is_native && !has_nonblocking_writes;
    }
};

/// Waits until the node's other ranks are through with the collective calls that this one is through with: before it looks at
/// the file by itself. Local; any thread.
void wait_for_left_calls(OpenFile& file);

/// While one exists this rank writes the file by itself, through the MPI library: collective writes that fill holes keep
/// its bytes, and the library, which may write back what it read around them, meets no collective write of other ranks. Where it may last until the program completes it (`ends_later`), no call of this rank's handles fills holes any
/// more. Local; any thread.
class OwnWrite {
  public:
    OwnWrite(OpenFile& file, bool ends_later);

  private:
    std::optional<storage::WriterLock> lock_;
};

/// Of all engines that the file has had. Local.
[[nodiscard]] io::EngineCounters total_counters(const OpenFile& file);

/// The files that are open, by handle. They live until they are removed, never destroyed by the end of the
/// process: a forked child and an exit without MPI_File_close leave them as they are.
OpenFile* find_file(MPI_File handle);
OpenFile* add_file(std::unique_ptr<OpenFile> file);
/// Whether so many are open that the MPI library, which needs one descriptor a file where the drop-in needs three and more, had
/// better have the next one alone.
[[nodiscard]] bool has_many_files();
/// Null when the handle is not known.
std::shared_ptr<OpenFile> remove_file(MPI_File handle);

}  // namespace hakobi::mpiio
