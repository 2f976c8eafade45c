#include "io/hidden_writes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/forked.hpp"
#include "mpi/wait.hpp"

namespace hakobi::io {
namespace {

// Between all bytes that files have and the shadow of range_lock.hpp.
constexpr std::int64_t first_lock_bytes = std::int64_t{1} << 61;
constexpr std::int64_t num_locks = std::int64_t{1} << 30;

struct flock lock_of(short type, std::int64_t at, std::int64_t length) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    lock.l_start = first_lock_bytes + at;
    lock.l_len = length;
    return lock;
}

/// Locks or unlocks a byte that nobody but this open file description locks.
bool change(int descriptor, short type, int domain) {
    struct flock lock = lock_of(type, domain, 1);
    int result = 0;
    do {
        result = ::fcntl(descriptor, F_OFD_SETLK, &lock);
    } while (result != 0 && errno == EINTR);
    return result == 0;
}

}  // namespace

struct HiddenWrites::Open {
    std::mutex mutex;
    int num = 0;  // calls of this aggregator
    bool has_failed = false, is_locked = false;
    int domain = 0;
    OwnDescriptor lock_file;  // of the engine's file; opened by the first lock
    FutexWord* on_node = nullptr;
    std::function<void(bool)> at_end;

    void end(bool failed) {
        const std::scoped_lock lock(mutex);
        has_failed = has_failed || failed;
        if (--num == 0) {
            if (at_end) std::exchange(at_end, {})(!has_failed);
            if (is_locked) is_locked = !change(lock_file.get(), F_UNLCK, domain);
        }
        if (on_node->fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(*on_node);
    }
    bool lock_it(const std::string& path) {
        if (lock_file.get() < 0)
            lock_file = OwnDescriptor([&] { return ::open(path.c_str(), O_WRONLY | O_CLOEXEC); });
        if (!is_locked && lock_file.get() >= 0) is_locked = change(lock_file.get(), F_WRLCK, domain);
        return is_locked;
    }
};

HiddenWrites::HiddenWrites(const Comm& comm, OpenedFile& file, SharedControl& control)
    : comm_(comm), file_(file), control_(control), open_(std::make_shared<Open>()) {}

bool HiddenWrites::prepare() {
    if (comm_.num_nodes() == 1) return true;
    const std::string& path = file_.name().path;
    looking_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (looking_.get() < 0) looking_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return looking_.get() >= 0 && is_held(looking_.get()) >= 0;
}

// Output mostly grows: neighbours are one range.
void HiddenWrites::add(Ranges& ranges, const Range& range) {
    for (Range& each : ranges) {
        if (range.begin_bytes > each.end_bytes || range.end_bytes < each.begin_bytes) continue;
        each.begin_bytes = std::min(each.begin_bytes, range.begin_bytes);
        each.end_bytes = std::max(each.end_bytes, range.end_bytes);
        return;
    }
    ranges.push_back(range);
}

bool HiddenWrites::overlaps(const Ranges& ranges, std::int64_t begin_bytes, std::int64_t end_bytes) {
    return std::ranges::any_of(ranges, [&](const Range& range) {
        return begin_bytes < range.end_bytes && end_bytes > range.begin_bytes;
    });
}

void HiddenWrites::note(std::int64_t begin_bytes, std::int64_t end_bytes) {
    const std::scoped_lock lock(mutex_);
    add(ranges_, {begin_bytes, end_bytes});
    add(own_, {begin_bytes, end_bytes});
    ++num_noted_;
}

void HiddenWrites::forget() {
    const std::scoped_lock lock(mutex_);
    ranges_.clear();
    own_.clear();
}

void HiddenWrites::forget_own(std::uint64_t num_noted) {
    const std::scoped_lock lock(mutex_);
    if (num_noted == num_noted_) own_.clear();
}

bool HiddenWrites::meets(std::int64_t begin_bytes, std::int64_t end_bytes) const {
    const std::scoped_lock lock(mutex_);
    return overlaps(ranges_, begin_bytes, end_bytes);
}

bool HiddenWrites::is_any() const {
    const std::scoped_lock lock(mutex_);
    return !ranges_.empty();
}

bool HiddenWrites::has_open(std::int64_t begin_bytes, std::int64_t end_bytes) const {
    const std::scoped_lock lock(mutex_);
    return overlaps(own_, begin_bytes, end_bytes) && !is_over();
}

std::int64_t HiddenWrites::open_end_bytes() const {
    const std::scoped_lock lock(mutex_);
    std::int64_t end = 0;
    for (const Range& range : own_) end = std::max(end, range.end_bytes);
    return end > 0 && is_over() ? 0 : end;
}

Status HiddenWrites::begin(int domain) {
    const std::scoped_lock lock(open_->mutex);
    open_->on_node = &control_.block().num_hidden;
    open_->domain = domain;
    open_->on_node->fetch_add(1, std::memory_order_acq_rel);
    ++open_->num;
    if (comm_.num_nodes() > 1 && !open_->lock_it(file_.name().path))
        return {ErrorCode::io, file_.name().shown + ": cannot lock a byte while a write is under way: " +
                                   std::strerror(errno)};
    return {};
}

std::function<void(bool)> HiddenWrites::end() const {
    return [open = open_](bool has_failed) { open->end(has_failed); };
}

bool HiddenWrites::is_over() const {
    if (control_.block().num_hidden.load(std::memory_order_acquire) != 0) return false;
    return comm_.num_nodes() == 1 || is_held(looking_.get()) == 0;
}

void HiddenWrites::wait(const Comm& progressing) {
    std::uint64_t num_noted = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (own_.empty()) return;
        num_noted = num_noted_;
    }
    mpi::wait_until(progressing, control_.block().num_hidden, {}, [](std::uint32_t num) { return num == 0; });
    mpi::Wait wait(progressing);
    while (!is_over()) wait.pause();
    forget_own(num_noted);
}

bool HiddenWrites::hold(int domain, std::function<void(bool)> at_end) {
    const std::scoped_lock lock(open_->mutex);
    if (open_->num == 0) return false;
    open_->domain = domain;
    if (!open_->lock_it(file_.name().path)) return false;
    open_->at_end = std::move(at_end);
    return true;
}

int HiddenWrites::is_held(int descriptor) {
    struct flock lock = lock_of(F_WRLCK, 0, num_locks);
    int result = 0;
    do {
        result = ::fcntl(descriptor, F_OFD_GETLK, &lock);
    } while (result != 0 && errno == EINTR);
    if (result != 0) return -1;
    return lock.l_type == F_UNLCK ? 0 : 1;
}

}  // namespace hakobi::io
