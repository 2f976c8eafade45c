#include "io/pipeline.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <system_error>
#include <utility>

#include "base/classic_locale.hpp"
#include "base/clock.hpp"
#include "io/policy.hpp"
#include "mpi/wait.hpp"

namespace hakobi::io {
void add_storage(const Phase& phase, EngineCounters& counters) {
    counters.storage_bytes += phase.storage_bytes.load();
    counters.storage_s += static_cast<double>(phase.storage_ns.load()) * 1e-9;
    counters.filled_bytes += phase.filled_bytes.load();
    counters.storage_end_s = std::max(counters.storage_end_s, phase.storage_end_s.load());
}

Pipeline::Pipeline(std::unique_ptr<storage::Access> access, const Memory& memory, const CoreSet& cores)
    : memory_(memory), maker_(getpid()), access_(std::move(access)) {
    divide({}, memory.rings);
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
    const auto num_turns = static_cast<std::uint32_t>(phase->task.num_turns());
    phase->num_open.store(2 * num_turns, std::memory_order_relaxed);
    phase->num_accesses.store(num_turns, std::memory_order_relaxed);
    if (num_turns == 0 && phase->task.when_stored) phase->status = phase->task.when_stored();
    if (num_turns == 0 && phase->task.when_over) phase->task.when_over(ErrorCode::ok);
    if (const double limit_s = phase->task.timeout_s; limit_s > 0)
        looks_.every_s.store(std::min(looks_.every_s.load(), limit_s / 4), std::memory_order_relaxed);
    {
        const std::scoped_lock lock(mutex_);
        std::erase_if(phases_, [](const auto& each) { return each->is_over(); });
        phases_.push_back(phase);
    }
    num_begun_.fetch_add(1, std::memory_order_release);
    futex_wake_all(num_begun_);
    if (phase->task.is_write) return;
    for (std::size_t lane = 0; lane < phase->task.lanes.size(); ++lane) {
        const LaneTurns& turns = phase->task.lanes[lane];
        const auto num = static_cast<std::uint32_t>(
            std::min<std::size_t>(static_cast<std::size_t>(memory_.rings.num_slots), turns.turns.size()));
        for (std::uint32_t turn = turns.first_turn; turn < turns.first_turn + num; ++turn)
            start_access(phase, static_cast<int>(lane), turn);
    }
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

void Pipeline::divide(const Comm& comm, const Rings& rings) {
    wait_for_all(comm);
    {
        const std::scoped_lock lock(mutex_);
        phases_.clear();  // their numbers come again
    }
    memory_.rings = rings;
    jobs_.of_slot.resize(static_cast<std::size_t>(rings.total()));
    for (std::uint32_t b = 0; b < static_cast<std::uint32_t>(rings.total()); ++b) {
        if (!jobs_.of_slot[b]) jobs_.of_slot[b] = std::make_unique<Job>();
        jobs_.of_slot[b]->pipeline = this;
        jobs_.of_slot[b]->slot = b;
        memory_.state->slots[b].clear();
        memory_.state->slots[b].turn.store(rings.first_turn(b), std::memory_order_release);
    }
}

void Pipeline::ended(Phase& phase, Status status) {
    if (!status.ok()) {
        const std::scoped_lock lock(phase.mutex);
        phase.status.keep_first(std::move(status));
    }
    if (phase.num_open.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(phase.num_open);
}

ByteMarks Pipeline::marks_of(std::uint32_t slot) const {
    return {memory_.marks + slot * ByteMarks::num_words(memory_.rings.slot_bytes), memory_.rings.slot_bytes};
}

void Pipeline::dispatch() {
    ReadyQueue& ready = memory_.state->ready;
    for (;;) {
        while (!ready.has_more(num_taken_) && !is_ending_.load()) {
            ready.wait(num_taken_, looks_.every_s.load(std::memory_order_relaxed));
            look_after_late();
        }
        look_after_late();
        std::optional<std::uint32_t> slot;
        while (!is_ending_.load() && !(slot = ready.take(num_taken_))) std::this_thread::yield();
        if (!slot) return;
        ++num_taken_;
        take(*slot);
    }
}

// A rank may deposit before this aggregator has come to begin the phase, which it does without waiting for
// anybody.
std::shared_ptr<Phase> Pipeline::phase_of(int lane, std::uint32_t turn) {
    for (;;) {
        const std::uint32_t seen = num_begun_.load(std::memory_order_acquire);
        {
            const std::scoped_lock lock(mutex_);
            for (const std::shared_ptr<Phase>& phase : phases_) {
                const LaneTurns& turns = phase->task.lanes[static_cast<std::size_t>(lane)];
                if (turn >= turns.first_turn && turn < turns.end_turn()) return phase;
            }
        }
        if (is_ending_.load()) return nullptr;
        futex_wait_until(num_begun_, {}, [seen](std::uint32_t n) { return n != seen; });
    }
}

void Pipeline::open(const Phase& phase, std::uint32_t slot, std::uint32_t turn) {
    memory_.state->slots[slot].open(turn, phase.task.servers ? memory_.changed : nullptr);
}

void Pipeline::take(std::uint32_t b) {
    Slot& slot = memory_.state->slots[b];
    const std::uint32_t turn = slot.turn.load(std::memory_order_acquire) & ~Slot::filled;
    // All arrivals come before this: the last one acquired the others and pushed the buffer. Where that was
    // another process, the thread sanitizer has not seen it do so; it sees this rank's own arrival here.
    (void)slot.num_arrived.load(std::memory_order_acquire);
    const int lane = memory_.rings.ring_of(b);
    const std::shared_ptr<Phase> phase = phase_of(lane, turn);
    if (!phase) return;
    if (phase->task.is_write) {
        start_access(phase, lane, turn);
    } else {
        // Everybody has collected this turn, so that the buffer may take its next one.
        const std::uint32_t next = turn + static_cast<std::uint32_t>(memory_.rings.num_slots);
        slot.clear();
        slot.turn.store(next, std::memory_order_release);
        if (next < phase->task.lanes[static_cast<std::size_t>(lane)].end_turn())
            start_access(phase, lane, next);
    }
    ended(*phase, {});
}

void Pipeline::start_access(const std::shared_ptr<Phase>& phase, int lane, std::uint32_t turn_number) {
    const std::uint32_t b = memory_.rings.slot_of(lane, turn_number);
    Job& job = *jobs_.of_slot[b];
    const PhaseTask& task = phase->task;
    const Turn& turn = task.turn(lane, turn_number);
    job.turn = turn_number;
    job.phase = phase;
    storage::Request& request = job.request;
    request = {};
    request.is_write = task.is_write;
    request.file = task.file;
    request.buffer = buffer(b);
    request.context = &job;
    request.begins_at_once = task.servers != nullptr;
    request.done = [](storage::Request& done) {
        Job& of = *static_cast<Job*>(done.context);
        of.pipeline->finished(of);
    };
    const std::int64_t length = turn.end_bytes - turn.begin_bytes;
    if (!task.is_write || turn.is_dense) {
        request.extents.push_back({turn.at, turn.begin_bytes, length});
    } else {
        const ByteMarks marks = marks_of(b);
        storage::StorageProfile& profile = task.file->profile();
        const int limit = access_->thread_limit();
        request.holes = &job.holes.emplace(marks, buffer(b));
        request.extents =
            extents_of(marks, turn.begin_bytes,
                       {task.may_fill_holes, profile.cost(limit, false), profile.cost(limit, true)});
    }
    if (!task.servers || task.servers->begin(request, turn.object, now_s())) submit(&job);
}

void Pipeline::submit(Job* job) {
    while (job != nullptr) {
        if (!job->phase->has_failed()) {
            access_->submit(job->request);
            return;
        }
        // After an error nothing more is written, and nobody waits for it.
        const std::shared_ptr<ServerWatch> servers = job->phase->task.servers;
        const ServerWatch::Ended ended =
            servers ? servers->end(job->request, 0, now_s()) : ServerWatch::Ended{};
        if (!ended.is_taken) conclude(*job, false);
        job = ended.next == nullptr ? nullptr : static_cast<Job*>(ended.next->context);
    }
}

// The access is over; whether anybody still waits for it is another matter.
void Pipeline::finished(Job& job) {
    const std::shared_ptr<ServerWatch> servers = job.phase->task.servers;
    const ServerWatch::Ended ended =
        servers ? servers->end(job.request, job.request.transferred_bytes, now_s()) : ServerWatch::Ended{};
    if (!ended.is_taken) conclude(job, true);
    if (ended.next != nullptr) submit(static_cast<Job*>(ended.next->context));
}

void Pipeline::look_after_late() {
    const double now = now_s();
    if (now - looks_.last_s < looks_.every_s.load(std::memory_order_relaxed)) return;
    looks_.last_s = now;
    std::vector<std::shared_ptr<Phase>> watched;
    {
        const std::scoped_lock lock(mutex_);
        for (const std::shared_ptr<Phase>& phase : phases_)
            if (phase->task.servers && !phase->is_over()) watched.push_back(phase);
    }
    const ClassicLocale classic;
    for (const std::shared_ptr<Phase>& phase : watched) {
        const PhaseTask& task = phase->task;
        if (task.tells_late) {
            for (const ServerWatch::Late& late : task.servers->newly_late(policy_limits::late_s, now))
                std::fprintf(stderr, "hakobi: %s: %s has not answered for %.1f s\n",
                             task.file->path().c_str(), name_of_server(late.server).c_str(), late.waited_s);
        }
        if (task.timeout_s == 0) continue;
        for (const ServerWatch::Late& late : task.servers->take_late(task.timeout_s, now)) give_up(late);
    }
}

void Pipeline::give_up(const ServerWatch::Late& late) {
    Job& job = *static_cast<Job*>(late.request->context);
    Phase& phase = *job.phase;
    phase.fail(ErrorCode::io);
    if (late.waited_s == 0) {  // it has only waited for such a one
        conclude(job, false);
        return;
    }
    const ClassicLocale classic;
    char waited[32];
    std::snprintf(waited, sizeof waited, "%.1f s", late.waited_s);
    phase.has_given_up.store(true);
    // The access goes on with its job; the buffer gets another.
    auto follower = std::make_unique<Job>();
    follower->pipeline = this;
    follower->slot = job.slot;
    follower->turn = job.turn;
    follower->phase = job.phase;
    follower->request.status = {ErrorCode::io, phase.task.file->path() + ": " + name_of_server(late.server) +
                                                   " has not answered for " + waited +
                                                   " (hakobi_storage_timeout_s)"};
    std::unique_ptr<Job>& of_slot = jobs_.of_slot[job.slot];
    jobs_.given_up.push_back(std::exchange(of_slot, std::move(follower)));
    conclude(*of_slot, false);
}

void Pipeline::conclude(Job& job, bool was_accessed) {
    // The buffer may come back with another job before the phase has heard of this one.
    const std::shared_ptr<Phase> phase = std::move(job.phase);
    const int lane = memory_.rings.ring_of(job.slot);
    const Turn& turn = phase->task.turn(lane, job.turn);
    storage::Request& request = job.request;
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
                                   request.start_s, request.end_s,
                                   job.turn - phase->task.lanes[static_cast<std::size_t>(lane)].first_turn});
    }
    if (!request.status.ok()) phase->fail(request.status.code());
    if (!phase->task.is_write && was_accessed && request.status.ok() &&
        request.transferred_bytes < turn.end_bytes - turn.begin_bytes) {
        lower(*phase->task.end_of_file, turn.begin_bytes + request.transferred_bytes);
    }
    Status status = std::move(request.status);
    std::uint32_t next_turn = job.turn | Slot::filled;
    if (phase->task.is_write) {
        if (!turn.is_dense) marks_of(job.slot).clear();
        memory_.state->slots[job.slot].clear();
        next_turn = job.turn + static_cast<std::uint32_t>(memory_.rings.num_slots);
    }
    open(*phase, job.slot, next_turn);  // it may come back with another job
    const bool is_last = phase->num_accesses.fetch_sub(1, std::memory_order_acq_rel) == 1;
    if (is_last && phase->task.when_stored && !phase->has_failed())
        status.keep_first(phase->task.when_stored());
    if (is_last && phase->task.when_over) phase->task.when_over(phase->first_error.load());
    ended(*phase, std::move(status));
}

}  // namespace hakobi::io
