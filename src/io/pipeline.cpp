#include "io/pipeline.hpp"

#include <algorithm>
#include <system_error>
#include <utility>

#include "mpi/wait.hpp"

namespace hakobi::io {

Pipeline::Pipeline(const Comm& comm, std::unique_ptr<storage::Access> access, const Memory& memory,
                   const CoreSet& cores, Timeline& timeline)
    : comm_(comm),
      memory_(memory),
      timeline_(timeline),
      jobs_(static_cast<std::size_t>(memory.depth)),
      access_(std::move(access)) {
    for (std::size_t b = 0; b < jobs_.size(); ++b) {
        jobs_[b].pipeline = this;
        jobs_[b].slot = static_cast<std::uint32_t>(b);
    }
    num_taken_ = memory_.state->ready.num_pushed.load();
    head_ = memory_.state->ready.tail.load();
    std::optional<std::thread> dispatcher = start_thread("hakobi-dispatch", cores, [this] { dispatch(); });
    if (!dispatcher) throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
    dispatcher_ = std::move(*dispatcher);
}

Pipeline::~Pipeline() {
    (void)wait_phase();
    is_ending_.store(true);
    memory_.state->ready.num_pushed.fetch_add(1, std::memory_order_release);
    futex_wake_all(memory_.state->ready.num_pushed);
    dispatcher_.join();
}

void Pipeline::begin_phase(std::vector<Turn> turns, bool is_write, bool may_fill_holes) {
    wait_for_turns();
    status_ = {};
    num_open_.store(2 * static_cast<std::uint32_t>(turns.size()), std::memory_order_relaxed);
    turns_ = std::move(turns);
    is_write_ = is_write;
    may_fill_holes_ = may_fill_holes;
    has_failed_.store(false);
    // Only those that this phase uses: all of a deep pipeline's are tens of MB.
    for (std::size_t t = 0; is_write && t < turns_.size(); ++t) {
        Job& job = jobs_[t % jobs_.size()];
        if (turns_[t].is_dense || std::exchange(job.are_marks_clear, true)) continue;
        marks_of(job.slot).clear();
    }
    for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(memory_.depth); ++b) {
        Slot& slot = memory_.state->slots[b];
        slot.num_arrived.store(0, std::memory_order_relaxed);
        slot.turn.store(b, std::memory_order_release);
        if (is_write) {
            futex_wake_all(slot.turn);
        } else if (b < turns_.size()) {
            start_access(b, b);
        }
    }
}

void Pipeline::wait_for_turns() {
    mpi::wait_until(comm_, num_open_, {}, [](std::uint32_t n) { return n == 0; });
}

Status Pipeline::wait_phase() {
    // Reading, the last buffer is free when the dispatcher has taken it back. It writes to the slot then, which must
    // not happen after the next phase's reset has closed it: a rank would take the old bytes for the new.
    wait_for_turns();
    const std::scoped_lock lock(mutex_);
    return std::exchange(status_, {});
}

void Pipeline::ended(Status status) {
    {
        const std::scoped_lock lock(mutex_);
        status_.keep_first(std::move(status));
    }
    if (num_open_.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(num_open_);
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
            std::this_thread::yield();
            value = entry.load(std::memory_order_acquire);
        }
        entry.store(0, std::memory_order_release);
        take(value - 1);
        ended({});
    }
}

void Pipeline::take(std::uint32_t b) {
    Slot& slot = memory_.state->slots[b];
    const std::uint32_t turn = slot.turn.load(std::memory_order_acquire) & ~Slot::filled;
    // All arrivals come before this: the last one acquired the others and pushed the buffer. Where that was another
    // process, the thread sanitizer has not seen it do so; it sees this rank's own arrival here.
    (void)slot.num_arrived.load(std::memory_order_acquire);
    if (is_write_) {
        start_access(b, turn);
        return;
    }
    // Reading: everybody has collected this turn, so that the buffer may take its next one.
    const std::uint32_t next = turn + static_cast<std::uint32_t>(memory_.depth);
    slot.num_arrived.store(0, std::memory_order_relaxed);
    slot.turn.store(next, std::memory_order_release);
    if (next < turns_.size()) start_access(b, next);
}

void Pipeline::start_access(std::uint32_t b, std::uint32_t turn_index) {
    Job& job = jobs_[b];
    job.turn = turn_index;
    const Turn& turn = turns_[turn_index];
    storage::Request& request = job.request;
    request = {};
    request.is_write = is_write_;
    request.buffer = buffer(b);
    request.context = &job;
    request.done = [](storage::Request& done) {
        Job& of = *static_cast<Job*>(done.context);
        of.pipeline->finished(of);
    };
    const std::int64_t length = turn.end_bytes - turn.begin_bytes;
    if (!is_write_ || turn.is_dense) {
        request.extents.push_back({0, turn.begin_bytes, length});
    } else {
        const ByteMarks marks = marks_of(b);
        request.holes = &job.holes.emplace(marks, buffer(b));
        request.extents =
            extents_of(marks, turn.begin_bytes, {may_fill_holes_, access_->cost(false), access_->cost(true)});
    }
    if (has_failed_.load(std::memory_order_relaxed)) {
        finished(job);  // what follows an error is not written, and nobody waits for it
    } else {
        access_->submit(request);
    }
}

void Pipeline::finished(Job& job) {
    const Turn turn = turns_[job.turn];
    storage::Request& request = job.request;
    const bool was_accessed = request.end_s > 0;
    if (was_accessed) {
        storage_bytes_.fetch_add(request.transferred_bytes, std::memory_order_relaxed);
        filled_bytes_.fetch_add(request.filled_bytes, std::memory_order_relaxed);
        storage_ns_.fetch_add(static_cast<std::int64_t>((request.end_s - request.start_s) * 1e9),
                              std::memory_order_relaxed);
        double latest_s = storage_end_s_.load(std::memory_order_relaxed);
        while (latest_s < request.end_s && !storage_end_s_.compare_exchange_weak(latest_s, request.end_s)) {
        }
        timeline_.add(
            {is_write_ ? "write" : "read", request.thread + 1, request.start_s, request.end_s, job.turn});
    }
    if (!request.status.ok()) has_failed_.store(true);
    if (!is_write_ && was_accessed && request.status.ok() &&
        request.transferred_bytes < turn.end_bytes - turn.begin_bytes) {
        const std::int64_t end = turn.begin_bytes + request.transferred_bytes;
        std::int64_t known = memory_.end_of_file->load();
        while (end < known && !memory_.end_of_file->compare_exchange_weak(known, end)) {
        }
    }
    Status status = std::move(request.status);
    Slot& slot = memory_.state->slots[job.slot];
    std::uint32_t next_turn = job.turn | Slot::filled;
    if (is_write_) {
        if (!turn.is_dense) marks_of(job.slot).clear();
        slot.num_arrived.store(0, std::memory_order_relaxed);
        next_turn = job.turn + static_cast<std::uint32_t>(memory_.depth);
    }
    // From here on the buffer is the ranks' again and may come back with another job.
    slot.turn.store(next_turn, std::memory_order_release);
    futex_wake_all(slot.turn);
    ended(std::move(status));
}

}  // namespace hakobi::io
