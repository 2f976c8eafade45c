#include "mpiio/operation_queue.hpp"

#include <optional>
#include <utility>

#include "base/guard.hpp"
#include "io/pieces.hpp"
#include "mpi/wait.hpp"
#include "storage/file.hpp"

namespace hakobi::mpiio {

OperationQueue::OperationQueue(const Comm& apart, io::EngineFile file, const CoreSet& cores)
    : apart_(apart), file_(std::move(file)), cores_(cores) {}

void OperationQueue::start(std::shared_ptr<Operation> operation,
                           const std::function<io::EngineOptions()>& options) {
    const std::scoped_lock lock(waiting_.mutex);
    if (operation->is_write) has_unsynced_writes_.store(true);
    if (!thread_.joinable()) {
        waiting_.options = options();
        std::optional<std::thread> thread = start_thread("hakobi-queue", cores_, [this] { run(); });
        if (!thread) {
            num_started_.fetch_add(1);
            carry_out(*operation);
            num_over_.fetch_add(1);
            return;
        }
        thread_ = std::move(*thread);
    }
    waiting_.operations.push(std::move(operation));
    num_started_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_started_);
}

bool OperationQueue::is_busy() const {
    return num_over_.load(std::memory_order_acquire) != num_started_.load(std::memory_order_acquire);
}

void OperationQueue::wait_for_all(const Comm& comm) {
    const std::uint32_t num_started = num_started_.load(std::memory_order_acquire);
    mpi::wait_until(comm, num_over_, {}, [=](std::uint32_t n) { return n == num_started; });
}

void OperationQueue::wait(const Comm& comm, Operation& operation) {
    mpi::wait_until(comm, operation.is_over, {}, [](std::uint32_t is_over) { return is_over != 0; });
}

Status OperationQueue::close(const Comm& comm) {
    wait_for_all(comm);
    if (!thread_.joinable()) {
        end_engine();
        return ended_;
    }
    // The engines' ends meet: the other ranks' threads come when their programs have called MPI_File_close,
    // too.
    is_ending_.store(true);
    num_started_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_started_);
    wait_for_all(comm);
    thread_.join();
    return ended_;
}

Result<storage::FilePtr> OperationQueue::opened(bool is_write) const {
    storage::OpenMode mode;
    mode.read = !is_write;
    mode.write = is_write;
    mode.name = file_.shown;
    mode.is_others = mode.is_shared = file_.has_other_nodes;
    return storage::open_file(file_.path, mode);
}

Status OperationQueue::sync() {
    if (!has_unsynced_writes_.exchange(false)) return {};
    auto file = opened(true);
    return file.ok() ? file.value()->sync() : file.status();
}

void OperationQueue::run() {
    for (std::uint32_t num_done = 0;; ++num_done) {
        futex_wait_until(num_started_, {}, [num_done](std::uint32_t n) { return n != num_done; });
        std::shared_ptr<Operation> next;
        {
            const std::scoped_lock lock(waiting_.mutex);
            if (!waiting_.operations.empty()) {
                next = std::move(waiting_.operations.front());
                waiting_.operations.pop();
            }
        }
        if (next) {
            carry_out(*next);
        } else {
            end_engine();
        }
        next.reset();
        num_over_.fetch_add(1, std::memory_order_release);
        futex_wake_all(num_over_);
        if (is_ending_.load() && num_done + 1 == num_started_.load(std::memory_order_acquire)) return;
    }
}

void OperationQueue::carry_out(Operation& operation) {
    mpi::Agreed& agreed = operation.agreed;
    if (!engine_) {
        agreed = io::Engine::open(apart_, file_, waiting_.options, engine_);
        if (agreed.status.ok() && file_.has_other_nodes) engine_->leave_holes();
    }
    if (engine_) {
        if (operation.is_write) {
            agreed =
                engine_->write_all(operation.file, operation.origin, operation.memory, operation.mistake);
        } else {
            std::int64_t bytes_read = 0;
            agreed = engine_->read_all(operation.file, operation.origin, operation.memory, bytes_read,
                                       operation.mistake);
            operation.bytes += bytes_read;
        }
    }
    if (!agreed.status.ok()) {
        // As without the queue: no engine where it finds no memory, and a new one after an error.
        const bool is_alone = !engine_ || !engine_->is_usable();
        end_engine();
        ended_ = {};  // the operation tells
        if (is_alone) carry_out_alone(operation);
    }
    if (!agreed.status.ok()) operation.bytes = 0;
    operation.is_over.store(1, std::memory_order_release);
    futex_wake_all(operation.is_over);
}

void OperationQueue::carry_out_alone(Operation& operation) {
    operation.agreed = {operation.mistake, apart_.rank(), true};
    if (!operation.mistake.ok() || operation.file.empty()) return;
    operation.agreed.status = guarded("an access without an engine", [&] {
        auto file = opened(operation.is_write);
        if (!file.ok()) return file.status();
        constexpr std::int64_t buffer_bytes = std::int64_t{1} << 20;
        io::PiecesResult moved =
            io::move_pieces(apart_, *file.value(), nullptr, 1,
                            {operation.file, operation.memory, operation.origin, 0,
                             operation.file.size_bytes(), operation.is_write, buffer_bytes});
        if (!operation.is_write) operation.bytes += moved.bytes;
        moved.status.keep_first(file.value()->close());
        return std::move(moved.status);
    });
}

void OperationQueue::end_engine() {
    if (!engine_) return;
    const io::EngineCounters last = engine_->counters();
    counters_.user_bytes += last.user_bytes;
    counters_.pieces += last.pieces;
    counters_.wait_buffer_s += last.wait_buffer_s;
    counters_.storage_s += last.storage_s;
    ended_ = engine_->close().status;
    engine_.reset();
}

}  // namespace hakobi::mpiio
