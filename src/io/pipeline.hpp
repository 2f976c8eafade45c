#pragma once

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "base/timeline.hpp"
#include "io/counters.hpp"
#include "io/holes.hpp"
#include "io/server_watch.hpp"
#include "io/slots.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

/// The bytes that one turn of an aggregator moves: the file's [begin, end), which stand in its buffer from
/// `at` on.
struct Turn {
    std::int64_t begin_bytes = 0, end_bytes = 0;
    bool is_dense = false;  ///< writing: every byte of it is deposited; else the marks say which
    std::int64_t at = 0;    ///< reading: not 0 where nobody wants the cycle's first bytes
    int object = -1;        ///< of the file's stripes; -1: not known, or several
};

/// The turns of one lane, in order.
struct LaneTurns {
    std::uint32_t first_turn = 0;  ///< turns are numbered on from phase to phase
    std::vector<Turn> turns;
    [[nodiscard]] std::uint32_t end_turn() const {
        return first_turn + static_cast<std::uint32_t>(turns.size());
    }
    [[nodiscard]] const Turn& turn(std::uint32_t number) const { return turns[number - first_turn]; }
};

/// The accesses of one aggregator in one phase of one file.
struct PhaseTask {
    std::vector<LaneTurns> lanes;
    bool is_write = false;
    bool may_fill_holes = false;
    storage::File* file = nullptr;
    std::atomic<std::int64_t>* end_of_file = nullptr;  ///< shared: lowered when a read comes back short
    Timeline* timeline = nullptr;
    std::function<Status()>
        when_stored;  ///< called by the thread that ends the last access, unless one has failed
    std::function<void(ErrorCode first_error)> when_over =
        {};  ///< the same, also where one has failed; before the phase is over
    std::shared_ptr<ServerWatch>
        servers;              ///< of a file with stripes, or with a limit: who is throttled, and who is late
    bool tells_late = false;  ///< on stderr, as soon as a server is late
    double timeout_s = 0;     ///< of one access, after which the phase is given up; 0: none

    [[nodiscard]] std::size_t num_turns() const {
        std::size_t num = 0;
        for (const LaneTurns& lane : lanes) num += lane.turns.size();
        return num;
    }
    [[nodiscard]] const Turn& turn(int lane, std::uint32_t number) const {
        return lanes[static_cast<std::size_t>(lane)].turn(number);
    }
};

/// Such a task, and how far it has come. The file's engine keeps it until the pipeline has waited for it.
struct Phase {
    explicit Phase(PhaseTask what) : task(std::move(what)) {}
    [[nodiscard]] bool is_over() const { return num_open.load(std::memory_order_acquire) == 0; }
    [[nodiscard]] bool has_failed() const {
        return first_error.load(std::memory_order_relaxed) != ErrorCode::ok;
    }
    void fail(ErrorCode code) {
        ErrorCode none = ErrorCode::ok;
        first_error.compare_exchange_strong(none, code);
    }

    const PhaseTask task;
    std::atomic<std::int64_t> storage_bytes{0}, storage_ns{0}, filled_bytes{0};
    std::atomic<double> storage_end_s{0};  ///< when the last access so far was over, on now_s()
    std::atomic<ErrorCode> first_error{ErrorCode::ok};
    std::atomic<bool> has_given_up{
        false};  ///< an access is under way, and may be for ever: its buffer must not be used again
    /// Counts turns. Each is open until its file access is over and the dispatcher has heard of its buffer's
    /// deposits or collections: the last buffers of a phase may be read out and still be on their way to it.
    FutexWord num_open{0};
    std::atomic<std::uint32_t> num_accesses{0};  ///< of `num_open`: those of storage
    std::mutex mutex;                            // of what follows
    Status status;
};

/// Adds what the phase's accesses were.
void add_storage(const Phase& phase, EngineCounters& counters);

/// The second stage of one aggregator: its buffers' file accesses, of one phase after another, whose files
/// may differ. While ranks deposit into one buffer, the dispatcher hands the complete ones to the Access.
/// Phases that write follow each other without a wait. Thread rule: the public functions belong to the
/// aggregator's own thread; the dispatcher thread and the Access's threads never call MPI. A wait is
/// mpi::Wait's, with the `comm` that it is given.
class Pipeline {
  public:
    struct Memory {
        AggregatorState* state = nullptr;  ///< shared
        std::byte* buffers = nullptr;      ///< of the rings, shared
        std::uint64_t* marks = nullptr;    ///< ByteMarks::num_words of each buffer, shared; clear
        FutexWord* changed = nullptr;  ///< shared; counts the buffers that have opened, of files by server
        Rings rings;
    };
    /// Throws std::system_error when the process can have no further thread. Its thread may run on `cores`.
    Pipeline(std::unique_ptr<storage::Access> access, const Memory& memory, const CoreSet& cores);
    /// Waits for all phases.
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// Begins a phase whose first turn is the one behind the last phase's. Reading waits for the phases
    /// before, and starts at once.
    void begin(const Comm& comm, const std::shared_ptr<Phase>& phase);
    /// Returns when every access of the phase is over: its first error, which is told once.
    static Status wait(const Comm& comm, Phase& phase);
    /// The same, and leaves the error there.
    static void wait_until_over(const Comm& comm, Phase& phase);
    void wait_for_all(const Comm& comm);
    /// Once all that was begun is over: numbers turns from 0 again, with the buffers' memory divided so from
    /// then on. No rank of the node may have deposited meanwhile.
    void divide(const Comm& comm, const Rings& rings);

    [[nodiscard]] std::byte* buffer(std::int64_t index) const {
        return memory_.buffers + index * memory_.rings.slot_bytes;
    }
    [[nodiscard]] const storage::Access& access() const noexcept { return *access_; }
    [[nodiscard]] const Rings& rings() const noexcept { return memory_.rings; }

  private:
    struct Job {
        storage::Request request;
        std::optional<MarkedHoles> holes;
        Pipeline* pipeline = nullptr;
        std::shared_ptr<Phase> phase;
        std::uint32_t slot = 0, turn = 0;
    };
    void dispatch();  // the dispatcher thread's body
    void take(std::uint32_t slot);
    /// The phase of a turn, whose aggregator may be about to begin it; null when the pipeline ends first. The
    /// dispatcher's.
    [[nodiscard]] std::shared_ptr<Phase> phase_of(int lane, std::uint32_t turn);
    void start_access(const std::shared_ptr<Phase>& phase, int lane, std::uint32_t turn);
    /// From here on the buffer is the ranks' again.
    void open(const Phase& phase, std::uint32_t slot, std::uint32_t turn);
    /// Begins it, or what may begin in the place of others; ends at once what follows an error.
    void submit(Job* job);
    void finished(Job& job);
    void conclude(Job& job, bool was_accessed);
    /// Now and then: tells of accesses that are late, and ends those that have been under way for longer than
    /// their phase permits. The dispatcher's.
    void look_after_late();
    void give_up(const ServerWatch::Late& late);
    static void ended(Phase& phase, Status status);
    [[nodiscard]] ByteMarks marks_of(std::uint32_t slot) const;

    Memory memory_;
    struct Jobs {
        std::vector<std::unique_ptr<Job>> of_slot;
        std::vector<std::unique_ptr<Job>> given_up;  // their accesses may be under way for ever
    };
    Jobs jobs_;
    std::mutex mutex_;                           // of the next
    std::deque<std::shared_ptr<Phase>> phases_;  // begun, and not known to be over
    FutexWord num_begun_{0};
    struct Looks {
        std::atomic<double> every_s{1.0};
        double last_s = 0;  // the dispatcher's own
    };
    Looks looks_;

    const pid_t maker_;  // a process that was forked has neither the threads nor a right to the buffers
    std::atomic<bool> is_ending_{false};
    std::uint32_t num_taken_ = 0;  // of the ready queue; the dispatcher's own
    std::unique_ptr<storage::Access> access_;
    std::thread dispatcher_;
};

}  // namespace hakobi::io
