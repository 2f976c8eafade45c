#pragma once

#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <mutex>
#include <queue>
#include <string>
#include <thread>

#include "base/futex.hpp"
#include "base/thread.hpp"
#include "io/engine.hpp"
#include "storage/file.hpp"

namespace hakobi::mpiio {

// Nonblocking and split collective operations. The program's call queues one and returns: it waits for
// nobody, and the memory is lent until the operation is over. A thread, one for each rank and open file,
// carries the file's operations out in their order, by an engine of the node's ranks, whose threads meet in
// memory that they share: it never calls MPI, and no operation waits for the program to be in MPI. On several
// nodes each node's ranks carry out their own part.
//
//  1. MPI_File_open makes what the threads meet by (comm_pool.hpp), where the program can make such calls.
//  2. The first operation starts the thread, and the thread opens the engine.
//  3. Calls that are collective and block wait for this rank's queue first, and so come in order. Calls of
//     one rank do not: those must not wait for other ranks, and MPI orders them by completion alone.
//  4. Whoever asks for completion looks at `is_over` (requests.hpp, or the second half of a split call).
//  5. MPI_File_close, or MPI_Finalize, waits for what is left and ends the thread, which closes the engine.

/// One collective access of this rank. The program's thread fills it in, the queue's thread carries it out;
/// what that leaves may be looked at once `is_over` is 1.
struct Operation {
    bool is_write = false;
    Region file, memory;  ///< offsets in the file; from `origin`
    std::byte* origin = nullptr;
    Status mistake;  ///< of this rank's: it takes part with nothing, and the node's ranks get the error
    std::int64_t bytes = 0;  ///< moved by this rank, besides what the engine reads
    mpi::Agreed agreed;      ///< equal on the node's ranks
    FutexWord is_over{0};

    [[nodiscard]] bool has_ended() const { return is_over.load(std::memory_order_acquire) != 0; }
};

class OperationQueue {
  public:
    /// `apart`: of the node's ranks (node/apart.hpp), for this queue alone. `cores`: where any of them may
    /// run.
    OperationQueue(const Comm& apart, io::EngineFile file, const CoreSet& cores);
    /// It has been closed.
    ~OperationQueue() = default;
    OperationQueue(const OperationQueue&) = delete;
    OperationQueue& operator=(const OperationQueue&) = delete;

    /// Queues an operation. `options`: of the engine, asked for by the first operation. Where the process can
    /// have no further thread, the operation is over on return. Local; any thread.
    void start(std::shared_ptr<Operation> operation, const std::function<io::EngineOptions()>& options);
    /// Whether an operation is not over. Local; any thread.
    [[nodiscard]] bool is_busy() const;
    /// Returns when all are over; MPI progresses meanwhile. `comm`: for that. Local, but operations wait for
    /// other ranks.
    void wait_for_all(const Comm& comm);
    /// Waits for one operation so.
    static void wait(const Comm& comm, Operation& operation);
    /// Waits for all, and ends the thread and the engine, whose error it returns. Collective over the node's
    /// ranks.
    [[nodiscard]] Status close(const Comm& comm);
    /// MPI_File_sync for what the queue has written. Nothing is queued. Local.
    [[nodiscard]] Status sync();
    /// The engine's, once closed. Local.
    [[nodiscard]] const io::EngineCounters& counters() const { return counters_; }

  private:
    void run();  // the thread's body
    void carry_out(Operation& operation);
    void carry_out_alone(Operation& operation);
    void end_engine();
    [[nodiscard]] Result<storage::FilePtr> opened(bool is_write) const;

    Comm apart_;
    io::EngineFile file_;
    CoreSet cores_;
    struct Waiting {
        std::mutex mutex;
        std::queue<std::shared_ptr<Operation>> operations;
        io::EngineOptions options;
    } waiting_;
    FutexWord num_started_{0}, num_over_{0};
    std::atomic<bool> is_ending_{false}, has_unsynced_writes_{false};
    std::thread thread_;
    // The thread's own, and after its end the program's.
    std::unique_ptr<io::Engine> engine_;
    Status ended_;  // how its end went, where no operation has failed before it
    io::EngineCounters counters_;
};

}  // namespace hakobi::mpiio
