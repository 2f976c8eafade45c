#include "series/carrier.hpp"

#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/thread.hpp"
#include "overview/overview.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"
#include "storage/joined.hpp"
#include "storage/place.hpp"

namespace hakobi::series {
namespace {

constexpr double first_pause_s = 0.1, longest_pause_s = 10;

std::int64_t file_bytes_of(const std::string& path) {
    const storage::FileFacts found = storage::facts_of(path);
    return found.is_file() ? found.size_bytes : -1;
}

Status copy_file(const Carried& carried, const std::string& part, bool sync, const storage::Pace& pace) {
    Result<storage::FilePtr> from = storage::open_file(carried.from, {.read = true, .regular_only = true});
    if (!from.ok()) return from.status();
    storage::discard_file(part);  // of an attempt before
    Result<storage::FilePtr> to = storage::open_file(
        part, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!to.ok()) return to.status();
    Status status = storage::copy_paced(*from.value(), *to.value(), carried.file_bytes, pace);
    // By the descriptor that has written: another one may not be told.
    if (status.ok() && sync) status = to.value()->sync();
    status.keep_first(to.value()->close());
    return status;
}

/// Whether its copy has arrived. A file at its place may have its size, and not the bytes: those that the
/// system had not stored when it crashed.
bool is_carried(const Carried& carried, const storage::PlacedName& to) {
    if (to.place->limits().takes_ranges) {
        if (file_bytes_of(carried.to) != carried.file_bytes) return false;
        if (file_bytes_of(carried.from) < 0) return true;  // removed, behind the copy
        const Result<std::uint64_t> there = storage::checksum_of_file(carried.to);
        const Result<std::uint64_t> here = storage::checksum_of_file(carried.from);
        return there.ok() && here.ok() && there.value() == here.value();
    }
    const Result<std::optional<std::int64_t>> size = to.place->size_of(to.name);
    return size.ok() && size.value() == carried.file_bytes;
}

Status copy_to_place(const Carried& carried, const storage::PlacedName& to, bool sync,
                     const storage::Pace& pace) {
    if (!to.place->limits().takes_ranges) {
        return to.place->put_file(carried.from, carried.file_bytes, to.name, sync, pace,
                                  {.only_if_absent = true});
    }
    if (Status status = check_free(carried.to); !status.ok()) return status;
    const std::string part = part_path(carried.to, carried.token);
    Status status = copy_file(carried, part, sync, pace);
    if (status.ok()) status = finish_file(part, carried.to, sync);
    if (!status.ok()) storage::discard_file(part);
    return status;
}

Status carry_file(const Carried& carried, bool sync, const storage::Pace& pace) {
    const std::int64_t bytes = file_bytes_of(carried.from);
    const storage::PlacedName to = storage::open_place_of(carried.to);
    const bool is_done = carried.may_be_there && is_carried(carried, to);
    if (bytes < 0 && is_done) return {};
    if (bytes < 0) return {ErrorCode::format, carried.from + " is gone from the stage"};
    if (bytes != carried.file_bytes)
        return {ErrorCode::format, carried.from + " is damaged: it has " + std::to_string(bytes) +
                                       " of its " + std::to_string(carried.file_bytes) + " bytes"};
    if (!is_done) {
        Status status = copy_to_place(carried, to, sync, pace);
        // A put that was given up may have arrived since.
        const bool has_arrived =
            status.code() == ErrorCode::exists && carried.may_be_there && is_carried(carried, to);
        if (!status.ok() && !has_arrived) return status;
    } else if (sync && to.place->limits().takes_ranges) {
        // Who gave it its name was killed, perhaps before the name was stable.
        if (Status status = sync_named(carried.to); !status.ok()) return status;
    }
    storage::discard_file(carried.from);
    return {};
}

/// Whether the error would come again.
bool is_lasting(const Status& status) {
    return is_of_step_alone(status.code()) || status.code() == ErrorCode::unsupported;
}

/// With a format that has a store, `from` is the folder of the step's members.
Status carry_step(const Carried& carried, bool sync, const storage::Pace& pace, format::LeftStore& store) {
    if (!storage::facts_of(carried.from).is_folder()) {
        // Errors that may pass are tried again.
        Status there =
            carried.may_be_there ? read_step(carried.to).status() : Status(ErrorCode::not_found, carried.to);
        if (there.ok() || (!is_lasting(there) && there.code() != ErrorCode::not_found)) return there;
        return {ErrorCode::format, carried.from + " is gone from the stage"};
    }
    const auto add = [&] {
        return add_to_store(carried.from, carried.to,
                            {.sync = sync, .pace = pace, .is_new = !carried.may_be_there, .left = &store});
    };
    Status added = add();
    // The commit of a try before may have arrived in between: then the step is found there.
    if (added.code() == ErrorCode::exists && carried.may_be_there) added = add();
    // A folder that is not whole, of a step that the store has: killed when it was removed, behind the step's
    // way there.
    if (added.code() != ErrorCode::format || !carried.may_be_there || !read_step(carried.to).ok())
        return added;
    storage::discard_file(storage::joined_scheme + carried.from);
    return {};
}

}  // namespace

Status carry(const Carried& carried, bool sync, const storage::Pace& pace, format::LeftStore& store) {
    return guarded("carrying " + carried.from, [&] {
        if (!store_of(carried.to).empty()) return carry_step(carried, sync, pace, store);
        Carried overview = carried;
        overview.from += overview::suffix;
        overview.to += overview::suffix;
        overview.file_bytes = file_bytes_of(overview.from);
        if (overview.file_bytes >= 0) {
            // Made anew by `hakobi index` where it does not arrive.
            const Status status = carry_file(overview, sync, pace);
            if (!status.ok() && status.code() != ErrorCode::exists) return status;
            if (!status.ok()) storage::discard_file(overview.from);
        }
        return carry_file(carried, sync, pace);
    });
}

Carrier::~Carrier() {
    {
        const std::scoped_lock lock(mutex_);
        is_ending_ = true;
    }
    changed_.notify_all();
    if (thread_) thread_->join();
}

void Carrier::add(Carried carried) {
    {
        const std::scoped_lock lock(mutex_);
        assert(waiting_.empty() || waiting_.back().step <= carried.step);
        if (waiting_.empty()) copied_s_ = now_s();
        waiting_.push_back(std::move(carried));
    }
    changed_.notify_all();
    if (thread_) return;
    CoreSet all;
    CPU_ZERO(&all);
    for (int core = 0; core < num_cores(); ++core) CPU_SET(core, &all);
    thread_ = start_thread("hakobi-carry", all, [this] { run(); });
    if (thread_) return;
    const std::scoped_lock lock(mutex_);
    ended_ = {ErrorCode::out_of_memory, "the process can have no thread that carries steps from the stage"};
}

void Carrier::sprint() {
    {
        const std::scoped_lock lock(mutex_);
        is_sprinting_ = true;
    }
    changed_.notify_all();
}

Carrier::State Carrier::state() const {
    const std::scoped_lock lock(mutex_);
    State state{.ended = ended_, .failing = failing_};
    for (const Carried& carried : waiting_) state.waiting_bytes += carried.file_bytes;
    if (!waiting_.empty()) {
        state.oldest = waiting_.front().step;
        state.youngest = waiting_.back().step;
        if (!failing_.ok()) state.failing_s = now_s() - copied_s_;
    }
    return state;
}

std::vector<std::int64_t> Carrier::take_arrived() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(arrived_, {});
}

void Carrier::run() {
    double pause_s = first_pause_s;
    format::LeftStore store;
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
        if (is_ending_) return;
        const Carried next = waiting_.front();
        lock.unlock();
        Status status = carry(
            next, options_.sync, [this](std::int64_t bytes) { return pace(bytes); }, store);
        lock.lock();
        if (is_ending_) {
            // Steps that have arrived are no longer reported; the stage does.
            return;
        }
        if (status.ok()) {
            if (!failing_.ok())
                std::fprintf(stderr, "hakobi: %s: step %lld has arrived\n", options_.name.c_str(),
                             static_cast<long long>(next.step));
            failing_ = {};
            pause_s = first_pause_s;
            copied_s_ = now_s();
            waiting_.pop_front();
            arrived_.push_back(next.step);
            continue;
        }
        if (is_lasting(status)) {
            ended_ = {status.code(),
                      "step " + std::to_string(next.step) + " stays on the stage: " + status.text()};
            return;
        }
        note_failure(next, std::move(status));
        waiting_.front().may_be_there = true;
        changed_.wait_for(lock, std::chrono::duration<double>(pause_s), [&] { return is_ending_; });
        pause_s = std::min(2 * pause_s, longest_pause_s);
    }
}

void Carrier::note_failure(const Carried& carried, Status status) {
    if (failing_.ok())
        std::fprintf(stderr, "hakobi: %s: step %lld stays on the stage for now, and is tried again: %s\n",
                     options_.name.c_str(), static_cast<long long>(carried.step), status.text().c_str());
    failing_ = std::move(status);
}

bool Carrier::pace(std::int64_t bytes) {
    std::unique_lock lock(mutex_);
    if (options_.bytes_s > 0 && !is_sprinting_) {
        const double wait_s = due_s_ - now_s();
        if (wait_s > 0)
            changed_.wait_for(lock, std::chrono::duration<double>(wait_s),
                              [&] { return is_ending_ || is_sprinting_; });
        due_s_ =
            std::max(due_s_, now_s()) + static_cast<double>(bytes) / static_cast<double>(options_.bytes_s);
    }
    if (failing_.ok()) copied_s_ = now_s();
    return !is_ending_;
}

}  // namespace hakobi::series
