#include "series/carrier.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "base/clock.hpp"
#include "base/guard.hpp"
#include "base/thread.hpp"
#include "overview/overview.hpp"
#include "series/step_file.hpp"
#include "storage/file.hpp"

namespace hakobi::series {
namespace {

/// A piece that storage takes at its full rate, and whose copy an end need not be waited for.
constexpr std::int64_t piece_bytes = 4 << 20;
constexpr double first_pause_s = 0.1, longest_pause_s = 10;

std::int64_t size_of(const std::string& path) {
    struct stat info {};
    return ::lstat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) ? info.st_size : -1;
}

Status copy(storage::File& from, storage::File& to, std::int64_t bytes, const Pace& pace) {
    std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(bytes, piece_bytes)));
    for (std::int64_t at = 0; at < bytes;) {
        const std::int64_t length = std::min(bytes - at, piece_bytes);
        if (!pace(length)) return {ErrorCode::failed, "carrying was given up"};
        const std::span<std::byte> piece = std::span(buffer).first(static_cast<std::size_t>(length));
        const Result<std::int64_t> read = from.read_at(piece, at);
        if (!read.ok()) return read.status();
        if (read.value() != length)
            return {ErrorCode::format, from.path() + " is damaged: it became shorter than it was"};
        if (Status status = to.write_at(piece, at); !status.ok()) return status;
        at += length;
    }
    return {};
}

Status copy_file(const Carried& carried, const std::string& part, const Pace& pace) {
    Result<storage::FilePtr> from = storage::open_file(carried.from, {.read = true, .regular_only = true});
    if (!from.ok()) return from.status();
    storage::discard_file(part);  // of an attempt before
    Result<storage::FilePtr> to = storage::open_file(
        part, {.read = false, .write = true, .create = true, .exclusive = true, .regular_only = true});
    if (!to.ok()) return to.status();
    Status status = copy(*from.value(), *to.value(), carried.file_bytes, pace);
    status.keep_first(to.value()->close());
    return status;
}

Status carry_file(const Carried& carried, bool sync, const Pace& pace) {
    const std::int64_t bytes = size_of(carried.from);
    const bool is_there = carried.may_be_there && size_of(carried.to) == carried.file_bytes;
    if (bytes < 0 && is_there) return {};
    if (bytes < 0) return {ErrorCode::format, carried.from + " is gone from the stage"};
    if (bytes != carried.file_bytes)
        return {ErrorCode::format, carried.from + " is damaged: it has " + std::to_string(bytes) +
                                       " of its " + std::to_string(carried.file_bytes) + " bytes"};
    if (!is_there) {
        if (Status status = check_free(carried.to); !status.ok()) return status;
        const std::string part = part_path(carried.to, carried.token);
        Status status = copy_file(carried, part, pace);
        if (status.ok()) status = finish_file(part, carried.to, sync);
        if (!status.ok()) {
            storage::discard_file(part);
            return status;
        }
    }
    storage::discard_file(carried.from);
    return {};
}

}  // namespace

Status carry(const Carried& carried, bool sync, const Pace& pace) {
    return guarded("carrying " + carried.from, [&] {
        Carried overview = carried;
        overview.from += overview::suffix;
        overview.to += overview::suffix;
        overview.file_bytes = size_of(overview.from);
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
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [&] { return is_ending_ || !waiting_.empty(); });
        if (is_ending_) return;
        const Carried next = waiting_.front();
        lock.unlock();
        Status status = carry(next, options_.sync, [this](std::int64_t bytes) { return pace(bytes); });
        lock.lock();
        if (is_ending_) {
            // What has arrived is not told any more; the stage says it.
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
        if (status.code() == ErrorCode::exists || status.code() == ErrorCode::format) {
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
