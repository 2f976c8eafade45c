#include "io/write_behind.hpp"

#include <fcntl.h>

#include <algorithm>
#include <new>
#include <utility>

#include "base/guard.hpp"
#include "base/thread.hpp"
#include "io/policy.hpp"
#include "mpi/wait.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::io {
namespace {

struct flock lock_of(short type, const ByteRange& range) {
    return storage::lock_on(type, range.begin_bytes + WriteBehind::lock_shift_bytes,
                            range.end_bytes - range.begin_bytes);
}

}  // namespace

WriteBehind::WriteBehind(storage::File& file, const std::string& path, Counted counted)
    : file_(file), counted_(std::move(counted)), lock_([&path] {
          const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
          return descriptor >= 0 ? descriptor : ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
      }) {}

WriteBehind::~WriteBehind() {
    {
        const std::scoped_lock lock(mutex_);
        queue_.is_ending = true;
    }
    changed_.notify_all();
    if (thread_) thread_->join();
}

bool WriteBehind::add(std::span<const std::byte> bytes, std::int64_t offset) {
    const auto length = static_cast<std::int64_t>(bytes.size());
    if (lock_.get() < 0 || length == 0 || length > policy_limits::most_behind ||
        offset > most_offset_bytes - length)
        return false;
    try {
        Write write{offset, {bytes.begin(), bytes.end()}};
        const std::scoped_lock lock(mutex_);
        if (queue_.bytes + length > policy_limits::most_behind_together) return false;
        if (!thread_) thread_ = start_thread("hakobi behind", {}, [this] { carry_out(); });
        if (!thread_) return false;
        struct flock range = lock_of(F_WRLCK, write.range());
        queue_.writes.push_back(std::move(write));
        if (storage::change_lock(lock_.get(), F_OFD_SETLK, range) != 0) {
            queue_.writes.pop_back();
            return false;
        }
        queue_.bytes += length;
        num_open_.fetch_add(1, std::memory_order_acq_rel);
        counted_.begin();
    } catch (const std::bad_alloc&) {
        return false;
    }
    changed_.notify_all();
    return true;
}

bool WriteBehind::meets(int descriptor, const ByteRange& range) {
    if (range.begin_bytes >= range.end_bytes) return false;
    struct flock found {};
    return storage::find_write_lock(descriptor, range.begin_bytes + lock_shift_bytes,
                                    range.end_bytes - range.begin_bytes, lock_shift_bytes, found) != 0;
}

std::int64_t WriteBehind::end_bytes(int descriptor) {
    std::int64_t end = 0;
    struct flock found {};
    // The kernel tells one lock, any, of those that meet the range.
    while (end < most_offset_bytes &&
           storage::find_write_lock(descriptor, end + lock_shift_bytes, most_offset_bytes - end,
                                    lock_shift_bytes, found) == 1)
        end = found.l_start + found.l_len - lock_shift_bytes;
    return end;
}

ByteRange WriteBehind::range() const {
    const std::scoped_lock lock(mutex_);
    ByteRange all;
    for (const Write& write : queue_.writes) all = all.with(write.range());
    return all;
}

void WriteBehind::wait(const Comm& progressing) {
    mpi::wait_until(progressing, num_open_, {}, [](std::uint32_t num) { return num == 0; });
}

ErrorCode WriteBehind::error() const {
    const std::scoped_lock lock(mutex_);
    return error_.code();
}

Status WriteBehind::take_error() {
    const std::scoped_lock lock(mutex_);
    return std::exchange(error_, {});
}

void WriteBehind::carry_out() {
    std::unique_lock lock(mutex_);
    for (;;) {
        changed_.wait(lock, [this] { return queue_.is_ending || !queue_.writes.empty(); });
        if (queue_.writes.empty()) return;
        const Write& write = queue_.writes.front();  // stays where it is: others are added behind it
        lock.unlock();
        Status status = guarded("a write behind others", [&] {
            const storage::WriterLock no_filler(lock_.get());
            return file_.write_at(write.bytes, write.offset);
        });
        const ErrorCode code = status.code();
        lock.lock();
        error_.keep_first(std::move(status));
        lock.unlock();
        counted_.end(code);
        lock.lock();
        const ByteRange done = write.range();
        queue_.bytes -= done.end_bytes - done.begin_bytes;
        queue_.writes.pop_front();
        unlock(done);
        if (num_open_.fetch_sub(1, std::memory_order_acq_rel) == 1) futex_wake_all(num_open_);
    }
}

void WriteBehind::unlock(const ByteRange& done) {
    const bool is_shared =
        std::ranges::any_of(queue_.writes, [&](const Write& each) { return each.range().overlaps(done); });
    if (is_shared) return;  // by the last of them, and what it does not cover at the very end
    struct flock range = lock_of(F_UNLCK, queue_.writes.empty() ? ByteRange{0, most_offset_bytes} : done);
    (void)storage::change_lock(lock_.get(), F_OFD_SETLK, range);
}

}  // namespace hakobi::io
