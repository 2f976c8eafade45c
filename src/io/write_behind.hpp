#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <hakobi/comm.hpp>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/forked.hpp"
#include "base/futex.hpp"
#include "base/status.hpp"
#include "io/byte_range.hpp"
#include "storage/file.hpp"

namespace hakobi::io {

/// Short writes of one rank alone, copied and carried out by a thread of their own in the order in which they
/// came: what would otherwise wait in the storage's queue behind hidden writes.
///
/// From `add` until a write is over its range is locked, moved by `lock_shift_bytes` (open file description's
/// locks): other ranks, of any node, see what is on its way, and what of it they have to wait for.
///
/// `add` belongs to one thread at a time; all other functions are any thread's.
class WriteBehind {
  public:
    /// Behind the locks of hidden_writes.cpp; before the shadow of range_lock.hpp.
    static constexpr std::int64_t lock_shift_bytes = (std::int64_t{1} << 61) + (std::int64_t{1} << 30);
    static constexpr std::int64_t most_offset_bytes = (std::int64_t{1} << 62) - lock_shift_bytes;

    /// Called for each write when it is taken, and when it is over, before its range is unlocked.
    struct Counted {
        std::function<void()> begin;
        std::function<void(ErrorCode error)> end;
    };

    /// Opens the file by `path`, for the locks; `file` outlives the object.
    WriteBehind(storage::File& file, const std::string& path, Counted counted);
    /// Waits for all.
    ~WriteBehind();
    WriteBehind(const WriteBehind&) = delete;
    WriteBehind& operator=(const WriteBehind&) = delete;
    [[nodiscard]] const Maker& maker() const { return maker_; }

    /// Copies the bytes and returns. False, and nothing has been done: there is no lock, thread or memory to
    /// be had, or as much is on its way as may be (policy_limits).
    [[nodiscard]] bool add(std::span<const std::byte> bytes, std::int64_t offset);
    /// Whether another rank has a write on its way that meets the range, or may have one.
    [[nodiscard]] bool meets_others(const ByteRange& range) const { return meets(lock_.get(), range); }
    /// The same of all ranks but those that lock by this descriptor.
    [[nodiscard]] static bool meets(int descriptor, const ByteRange& range);
    /// Behind the last byte on its way, of all those ranks; 0: there is none.
    [[nodiscard]] static std::int64_t end_bytes(int descriptor);

    [[nodiscard]] bool is_any() const { return num_open_.load(std::memory_order_acquire) != 0; }
    /// Around all that are on their way.
    [[nodiscard]] ByteRange range() const;
    /// Until none is on its way; MPI progresses meanwhile, but with an empty Comm.
    void wait(const Comm& progressing);
    [[nodiscard]] ErrorCode error() const;
    /// The first error since the last call of this.
    [[nodiscard]] Status take_error();

  private:
    struct Write {
        std::int64_t offset;
        std::vector<std::byte> bytes;
        [[nodiscard]] ByteRange range() const {
            return {offset, offset + static_cast<std::int64_t>(bytes.size())};
        }
    };
    void carry_out();
    void unlock(const ByteRange& done);  // the mutex is held

    storage::File& file_;
    Counted counted_;
    Maker maker_;
    OwnDescriptor lock_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    struct {
        std::deque<Write> writes;  // the first one is being carried out
        std::int64_t bytes = 0;    // of them all
        bool is_ending = false;
    } queue_;
    Status error_;
    FutexWord num_open_{0};
    std::optional<std::thread> thread_;
};

}  // namespace hakobi::io
