#pragma once

#include <atomic>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/timeline.hpp"
#include "io/holes.hpp"
#include "io/slots.hpp"
#include "storage/access.hpp"

namespace hakobi::io {

/// What one turn of an aggregator moves: the file's bytes [begin, end), which stand at the front of its buffer.
struct Turn {
    std::int64_t begin_bytes = 0, end_bytes = 0;
    bool is_dense = false;  ///< writing: every byte of it is deposited; else the marks say which
};

/// The second stage of one aggregator: its buffers' file accesses. While ranks deposit into one buffer, the dispatcher
/// hands the complete ones to the Access. Thread rule: the public functions belong to the aggregator's own thread; the
/// dispatcher thread and the Access's threads never call MPI.
class Pipeline {
  public:
    struct Memory {
        AggregatorState* state = nullptr;  ///< shared
        std::byte* buffers = nullptr;      ///< depth buffers of cb_bytes, shared
        std::uint64_t* marks = nullptr;    ///< depth times ByteMarks::num_words(cb_bytes), shared
        std::atomic<std::int64_t>* end_of_file = nullptr;  ///< shared: lowered when a read comes back short
        std::int64_t cb_bytes = 0;
        int depth = 0;
    };
    /// Throws std::system_error when the process can have no further thread. Its thread may run on `cores`. The waits below
    /// are mpi::Wait's, with `comm`.
    Pipeline(const Comm& comm, std::unique_ptr<storage::Access> access, const Memory& memory,
             const CoreSet& cores, Timeline& timeline);
    ~Pipeline();
    Pipeline(const Pipeline&) = delete;
    Pipeline& operator=(const Pipeline&) = delete;

    /// Begins a phase of these turns; the one before must have been waited for. Local, but all ranks of the node must
    /// have left the phase before. Reading starts at once.
    void begin_phase(std::vector<Turn> turns, bool is_write, bool may_fill_holes);
    /// Returns when every turn's file access is over: the first error, which is told once. Without a phase: success.
    Status wait_phase();

    [[nodiscard]] std::byte* buffer(std::int64_t index) const {
        return memory_.buffers + index * memory_.cb_bytes;
    }
    [[nodiscard]] const Memory& memory() const noexcept { return memory_; }
    [[nodiscard]] const storage::Access& access() const noexcept { return *access_; }
    [[nodiscard]] std::int64_t storage_bytes() const noexcept { return storage_bytes_.load(); }
    [[nodiscard]] std::int64_t filled_bytes() const noexcept { return filled_bytes_.load(); }
    [[nodiscard]] double storage_s() const noexcept { return static_cast<double>(storage_ns_.load()) * 1e-9; }
    /// When the last access so far was over, on now_s().
    [[nodiscard]] double storage_end_s() const noexcept { return storage_end_s_.load(); }

  private:
    struct Job {
        storage::Request request;
        std::optional<MarkedHoles> holes;
        Pipeline* pipeline = nullptr;
        std::uint32_t slot = 0, turn = 0;
        bool are_marks_clear = false;  // the memory may have served another file; each turn leaves them clear
    };
    void dispatch();  // the dispatcher thread's body
    void take(std::uint32_t slot);
    void start_access(std::uint32_t slot, std::uint32_t turn);
    void finished(Job& job);
    void ended(Status status);
    void wait_for_turns();
    [[nodiscard]] ByteMarks marks_of(std::uint32_t slot) const;

    Comm comm_;
    Memory memory_;
    Timeline& timeline_;
    std::vector<Turn> turns_;
    bool is_write_ = false;
    bool may_fill_holes_ = false;
    std::vector<Job> jobs_;
    std::atomic<std::int64_t> storage_bytes_{0}, storage_ns_{0}, filled_bytes_{0};
    std::atomic<double> storage_end_s_{0};
    std::atomic<bool> has_failed_{false};

    /// Of each turn, until its file access is over, and until the dispatcher has heard of its buffer's deposits or
    /// collections: the last buffers of a phase may be read out and still be on their way to it.
    FutexWord num_open_{0};
    std::mutex mutex_;  // of what follows
    Status status_;

    std::atomic<bool> is_ending_{false};
    std::uint32_t num_taken_ = 0, head_ = 0;  // of the ready queue; the dispatcher's own
    std::unique_ptr<storage::Access> access_;
    std::thread dispatcher_;
};

}  // namespace hakobi::io
