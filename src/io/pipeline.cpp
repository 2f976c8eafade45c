#include "io/pipeline.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "mpi/wait.hpp"

namespace hakobi::io {
void add_storage(const Phase& phase, EngineCounters& counters) {
    counters.storage_bytes += phase.storage_bytes.load();
    counters.storage_s += static_cast<double>(phase.storage_ns.load()) * 1e-9;
    counters.filled_bytes += phase.filled_bytes.load();
    counters.storage_end_s = std::max(counters.storage_end_s, phase.storage_end_s.load());
}

Pipeline::Pipeline(std::unique_ptr<storage::Access> access, const Memory& memory, const CoreSet& cores)
    : memory_(memory),
      jobs_(static_cast<std::size_t>(memory.depth)),
      maker_(getpid()),
      access_(std::move(access)) {
    for (std::size_t b = 0; b < jobs_.size(); ++b) {
        jobs_[b].pipeline = this;
        jobs_[b].slot = static_cast<std::uint32_t>(b);
        memory_.state->slots[b].turn.store(static_cast<std::uint32_t>(b));
    }
    std::optional<std::thread> dispatcher = start_thread("hakobi-dispatch", cores, [this] { dispatch(); });
    if (!dispatcher) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    dispatcher_ = std::move(*dispatcher);
}

Pipeline::~Pipeline() {
    if (getpid() != maker_) {
        dispatcher_.detach();
        (void)access_.release();
        return;
    }
    wait_for_all({});
    is_ending_.store(true);
    memory_.state->ready.num_pushed.fetch_add(1, std::memory_order_release);
    futex_wake_all(memory_.state->ready.num_pushed);
    num_begun_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_begun_);
    dispatcher_.join();
}

void Pipeline::begin(const Comm& comm, const std::shared_ptr<Phase>& phase) {
    if (!phase->task.is_write) wait_for_all(comm);
    const auto num_turns = static_cast<std::uint32_t>(phase->task.turns.size());
    phase->num_open.store(2 * num_turns, std::memory_order_relaxed);
    phase->num_accesses.store(num_turns, std::memory_order_relaxed);
    if (num_turns == 0 && phase->task.when_stored) phase->task.when_stored();
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(phases_, [](const auto& each) { return each->is_over(); });
        phases_.push_back(phase);
    }
    num_begun_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_begun_);
    if (phase->task.is_write) return;
    const auto num_buffers = static_cast<std::uint32_t>(memory_.depth);
    const std::uint32_t end =
        phase->task.first_turn + std::min(num_buffers, static_cast<std::uint32_t>(phase->task.turns.size()));
    for (std::uint32_t turn = phase->task.first_turn; turn < end; ++turn) start_access(phase, turn);
}

void Pipeline::wait_until_over(const Comm& comm, Phase& phase) {
    mpi::wait_until(comm, phase.num_open, {}, [](std::uint32_t n) { return n == 0; });
}

void Pipeline::wait_for_all(const Comm& comm) {
    std::deque<std::shared_ptr<Phase>> phases;
    {
        const std::scoped_lock lock(mutex_);
        phases = phases_;
    }
    for (const std::shared_ptr<Phase>& phase : phases) wait_until_over(comm, *phase);
}

Status Pipeline::wait(const Comm& comm, Phase& phase) {
    wait_until_over(comm, phase);
    const std::scoped_lock lock(phase.mutex);
    return std::exchange(phase.status, {});
}

void Pipeline::restart_turns(const Comm& comm) {
    wait_for_all(comm);
    {
        const std::scoped_lock lock(mutex_);
        phases_.clear();  // their numbers come again
    }
    for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(memory_.depth); ++b)
        memory_.state->slots[b].turn.store(b, std::memory_order_release);
}

void Pipeline::ended(Phase& phase, Status status) {
    if (!status.ok()) {
        const std::scoped_lock lock(phase.mutex);
        phase.status.keep_first(std::move(status));
    }
    if (phase.num_open.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(phase.num_open);
}

ByteMarks Pipeline::marks_of(std::uint32_t slot) const {
    return {memory_.marks + slot * ByteMarks::num_words(memory_.cb_bytes), memory_.cb_bytes};
}

void Pipeline::dispatch() {
    ReadyQueue& ready = memory_.state->ready;
    for (;;) {
        futex_wait_until(ready.num_pushed, {},
                         [this](std::uint32_t n) { return n != num_taken_ || is_ending_.load(); });
        if (is_ending_.load()) return;
        ++num_taken_;
        // A pusher takes its entry before it counts, but a later one may count first: the entry is there soon.
        std::atomic<std::uint32_t>& entry = ready.entries[head_++ % max_depth];
        std::uint32_t value = entry.load(std::memory_order_acquire);
        while (value == 0) {
            if (is_ending_.load()) return;
            std::this_thread::yield();
            value = entry.load(std::memory_order_acquire);
        }
        entry.store(0, std::memory_order_release);
        take(value - 1);
    }
}

// A rank may deposit before this aggregator has come to begin the phase, which it does without waiting for anybody.
std::shared_ptr<Phase> Pipeline::phase_of(std::uint32_t turn) {
    for (;;) {
        const std::uint32_t seen = num_begun_.load(std::memory_order_acquire);
        {
            const std::scoped_lock lock(mutex_);
            for (const std::shared_ptr<Phase>& phase : phases_)
                if (turn >= phase->task.first_turn && turn < phase->task.end_turn()) return phase;
        }
        if (is_ending_.load()) return nullptr;
        futex_wait_until(num_begun_, {}, [seen](std::uint32_t n) { return n != seen; });
    }
}

void Pipeline::take(std::uint32_t b) {
    Slot& slot = memory_.state->slots[b];
    const std::uint32_t turn = slot.turn.load(std::memory_order_acquire) & ~Slot::filled;
    // All arrivals come before this: the last one acquired the others and pushed the buffer. Where that was another
    // process, the thread sanitizer has not seen it do so; it sees this rank's own arrival here.
    (void)slot.num_arrived.load(std::memory_order_acquire);
    const std::shared_ptr<Phase> phase = phase_of(turn);
    if (!phase) return;
    if (phase->task.is_write) {
        start_access(phase, turn);
    } else {
        // Everybody has collected this turn, so that the buffer may take its next one.
        const std::uint32_t next = turn + static_cast<std::uint32_t>(memory_.depth);
        slot.num_arrived.store(0, std::memory_order_relaxed);
        slot.turn.store(next, std::memory_order_release);
        if (next < phase->task.end_turn()) start_access(phase, next);
    }
    ended(*phase, {});
}

void Pipeline::start_access(const std::shared_ptr<Phase>& phase, std::uint32_t turn_number) {
    const std::uint32_t b = slot_of(turn_number);
    Job& job = jobs_[b];
    job.turn = turn_number;
    job.phase = phase;
    const Turn& turn = phase->task.turn(turn_number);
    storage::Request& request = job.request;
    request = {};
    request.is_write = phase->task.is_write;
    request.file = phase->task.file;
    request.buffer = buffer(b);
    request.context = &job;
    request.done = [](storage::Request& done) {
        Job& of = *static_cast<Job*>(done.context);
        of.pipeline->finished(of);
    };
    const std::int64_t length = turn.end_bytes - turn.begin_bytes;
    if (!phase->task.is_write || turn.is_dense) {
        request.extents.push_back({turn.at, turn.begin_bytes, length});
    } else {
        const ByteMarks marks = marks_of(b);
        storage::StorageProfile& profile = phase->task.file->profile();
        const int limit = access_->thread_limit();
        request.holes = &job.holes.emplace(marks, buffer(b));
        request.extents =
            extents_of(marks, turn.begin_bytes,
                       {phase->task.may_fill_holes, profile.cost(limit, false), profile.cost(limit, true)});
    }
    if (phase->has_failed.load(std::memory_order_relaxed)) {
        finished(job);  // what follows an error is not written, and nobody waits for it
    } else {
        access_->submit(request);
    }
}

void Pipeline::finished(Job& job) {
    // The buffer may come back with another job before the phase has heard of this one.
    const std::shared_ptr<Phase> phase = std::move(job.phase);
    const Turn& turn = phase->task.turn(job.turn);
    storage::Request& request = job.request;
    const bool was_accessed = request.end_s > 0;
    if (was_accessed) {
        phase->storage_bytes.fetch_add(request.transferred_bytes, std::memory_order_relaxed);
        phase->filled_bytes.fetch_add(request.filled_bytes, std::memory_order_relaxed);
        phase->storage_ns.fetch_add(static_cast<std::int64_t>((request.end_s - request.start_s) * 1e9),
                                    std::memory_order_relaxed);
        double latest_s = phase->storage_end_s.load(std::memory_order_relaxed);
        while (latest_s < request.end_s &&
               !phase->storage_end_s.compare_exchange_weak(latest_s, request.end_s)) {
        }
        phase->task.timeline->add({phase->task.is_write ? "write" : "read", request.thread + 1,
                                   request.start_s, request.end_s, job.turn - phase->task.first_turn});
    }
    if (!request.status.ok()) phase->has_failed.store(true);
    if (!phase->task.is_write && was_accessed && request.status.ok() &&
        request.transferred_bytes < turn.end_bytes - turn.begin_bytes) {
        lower(*phase->task.end_of_file, turn.begin_bytes + request.transferred_bytes);
    }
    Status status = std::move(request.status);
    Slot& slot = memory_.state->slots[job.slot];
    std::uint32_t next_turn = job.turn | Slot::filled;
    if (phase->task.is_write) {
        if (!turn.is_dense) marks_of(job.slot).clear();
        slot.num_arrived.store(0, std::memory_order_relaxed);
        next_turn = job.turn + static_cast<std::uint32_t>(memory_.depth);
    }
    // From here on the buffer is the ranks' again and may come back with another job.
    slot.turn.store(next_turn, std::memory_order_release);
    futex_wake_all(slot.turn);
    const bool is_last = phase->num_accesses.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (is_last && phase->task.when_stored && !phase->has_failed.load()) phase->task.when_stored();
    ended(*phase, std::move(status));
}

}  // namespace hakobi::io
