#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "mpiio/engine_side.hpp"
#include "mpiio/file_facts.hpp"
#include "mpiio/library_side.hpp"
#include "mpiio/operation_queue.hpp"
#include "mpiio/view.hpp"

namespace hakobi::mpiio {

/// Why a data access of a file that the drop-in knows went to the MPI library.
enum class Passed {
    independent,  ///< not a collective call
    nonblocking,  ///< a nonblocking collective call of a file without a queue: it may not wait for other ranks
    shared_pointer,  ///< the shared file pointer is the MPI library's
    mode,            ///< atomic mode, or another data representation than native
    pattern,  ///< this rank's part could not be described; the other ranks' parts went through the engine
    file,     ///< the file as a whole: EngineSide::why_not
};
inline constexpr std::size_t num_passed = 6;

/// How many calls of this rank went where. Any thread adds; `views` and `late_views` only the thread that
/// sets the view.
struct Counts {
    std::atomic<std::int64_t> writes{0}, reads{0};  ///< collective calls that the engine took
    std::atomic<std::int64_t> queued{0};            ///< of them nonblocking or split
    std::atomic<std::int64_t> deferred{0};          ///< this rank's own writes that went behind hidden ones
    std::int64_t views = 0, late_views = 0;  ///< views that the program set; of them held back at first
    std::array<std::atomic<std::int64_t>, num_passed> passed{};

    void take(bool is_write) { (is_write ? writes : reads).fetch_add(1, std::memory_order_relaxed); }
    /// A call that was counted as taken went to the library after all, with its file.
    void untake(bool is_write) {
        (is_write ? writes : reads).fetch_sub(1, std::memory_order_relaxed);
        add(Passed::file);
    }
    void add(Passed why) { passed[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed); }
};

/// The state that the program's own calls have set. Equal on all ranks, but for `view` and `split_bytes`.
struct ProgramSide {
    View view;
    std::string representation = "native";  ///< of the view's data
    bool is_native = true;                  ///< that is "native"
    bool is_atomic = false;                 ///< MPI_File_set_atomicity
    bool has_nonblocking_writes = false;    ///< collective ones, which may not be completed (entry.hpp)
    /// The split collective call that has begun and not ended. MPI allows one a file.
    enum class Split { none, taken, queued, passed } split = Split::none;
    std::int64_t split_bytes = 0;                ///< of this rank's, where the engine took it
    std::shared_ptr<Operation> split_operation;  ///< where the queue has it
};

/// A file that the program has open: all that the drop-in knows behind an MPI_File. Lives in the table of
/// open files (file_table.hpp).
struct OpenFile {
    explicit OpenFile(FileFacts its_facts) : facts(std::move(its_facts)) {}

    FileFacts facts;
    ProgramSide program;
    LibrarySide library_side;
    EngineSide engine_side;
    /// For the nonblocking and split collectives; null where they go to the library. Equal on all ranks in
    /// that.
    std::unique_ptr<OperationQueue> queue;
    Counts counts;

    /// Whether the engine takes the file's collective calls now. Equal on all ranks.
    [[nodiscard]] bool is_taken() const noexcept {
        return engine_side.why_not.empty() && !program.is_atomic && program.is_native &&
               !program.has_nonblocking_writes;
    }
    /// Whether they go through the queue now. Equal on all ranks.
    [[nodiscard]] bool is_queued() const noexcept { return queue != nullptr && is_taken(); }
    /// Returns when what this rank has queued is over; MPI progresses meanwhile. Before each collective call
    /// that blocks.
    void wait_for_queue() {
        if (queue != nullptr && queue->is_busy()) queue->wait_for_all(facts.comms->engine);
    }
    /// Counts a call that goes to the library: for its own reason, or since the whole file does.
    void count_passed(Passed why) { counts.add(engine_side.why_not.empty() ? why : Passed::file); }
};

}  // namespace hakobi::mpiio
