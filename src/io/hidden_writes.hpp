#pragma once

#include <cstdint>
#include <functional>
#include <hakobi/comm.hpp>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/descriptor.hpp"
#include "base/forked.hpp"
#include "io/opened_file.hpp"
#include "io/shared_control.hpp"
#include "io/write_behind.hpp"

namespace hakobi::io {

/// Elective hidden writes of one file (Request::elective): which bytes of it may still be on their way to
/// storage, and who waits for them.
///
///  1. Every rank knows the range of each such call: the ranks have met (`note`). A collective call that does
///     not follow them without a wait has waited for them, and they are forgotten, on all ranks alike.
///  2. Before a rank can return from a call, each aggregator of it counts it as open (`begin`); whoever ends
///     its last access counts it as over, also where that failed.
///  3. A rank alone, which must see the bytes or come behind them, waits until nothing is open (`wait`): by a
///     count in the memory that the node shares; between nodes by locks. There each aggregator holds one byte
///     of the file far behind its end locked (an open file description's lock) while it has something open. A
///     process that ends loses the lock.
///  4. `hold` takes that lock on one node, too: for ranks that have never opened the file.
///  5. While something is open, a short write of one rank alone may go behind it (`defer`; write_behind.hpp).
///     It counts as open. Another rank that touches its bytes waits; a collective call learns at the meeting
///     where such writes are.
///
/// `begin` is collective in that all aggregators call it. All other functions are local; any thread, but for
/// `note`, `forget`, `begin` and `settle_deferred`, which belong to the thread of the collective calls.
class HiddenWrites {
  public:
    HiddenWrites(const Comm& comm, OpenedFile& file, SharedControl& control);

    /// Opens what `wait` needs. Whether this rank can do its part.
    [[nodiscard]] bool prepare();
    /// Whether there may be any on this file; equal on all ranks. No by default.
    void allow(bool are_allowed) { are_allowed_ = are_allowed; }
    [[nodiscard]] bool are_allowed() const { return are_allowed_; }

    void note(std::int64_t begin_bytes, std::int64_t end_bytes);
    void forget();
    /// Whether a call since has written to the range; equal on all ranks.
    [[nodiscard]] bool meets(std::int64_t begin_bytes, std::int64_t end_bytes) const;
    [[nodiscard]] bool is_any() const;
    /// Whether bytes of the range are under way, as far as this rank knows; deferred ones of any rank.
    [[nodiscard]] bool has_open(std::int64_t begin_bytes, std::int64_t end_bytes) const;
    /// Behind the last byte under way; 0: none.
    [[nodiscard]] std::int64_t open_end_bytes() const;

    /// The aggregator's `domain`. An error: nobody could wait for it.
    [[nodiscard]] Status begin(int domain);
    /// For PhaseTask::when_over.
    [[nodiscard]] std::function<void(ErrorCode first_error)> end() const;

    /// Takes a write of this rank alone, which goes behind what is open: its bytes are copied. False, and
    /// nothing has been done: nothing is open, it would have to wait first, or it is too long.
    [[nodiscard]] bool defer(std::span<const std::byte> bytes, std::int64_t offset);
    [[nodiscard]] bool has_deferred() const;
    [[nodiscard]] ErrorCode deferred_error() const;
    /// Around those that this rank has deferred and that are not over.
    [[nodiscard]] ByteRange deferred_range() const;
    /// Until they are over.
    void wait_for_deferred();
    /// The same, and their first error. Until `forget` none is taken.
    [[nodiscard]] Status settle_deferred();
    /// The first error of those that are over.
    [[nodiscard]] Status take_deferred_error();

    /// Until nothing is open on any node; MPI progresses meanwhile.
    void wait() { wait(comm_); }
    /// The same, without a call of MPI.
    void wait_apart() { wait({}); }
    /// In both, so far.
    [[nodiscard]] double waited_s() const;
    /// No further call comes, and the file is to be left before its bytes are stored: takes the lock where
    /// this aggregator has something open. `at_end` is called by whoever ends the last access, before the
    /// lock goes, with whether all of them went well. Returns false, and calls nothing, where there is
    /// nothing open or no lock to be had.
    [[nodiscard]] bool hold(int domain, std::function<void(bool is_stored)> at_end);
    /// The first error on this node of what a rank held; told before the lock goes, and by `tell_left`.
    [[nodiscard]] ErrorCode left_error() const;
    void tell_left(ErrorCode error);

    /// Whether any process of any node holds such a lock on the file of this descriptor: 1, 0, or -1 where
    /// that cannot be told.
    [[nodiscard]] static int is_held(int descriptor);

  private:
    struct Open;  // shared with I/O threads
    using Ranges = std::vector<ByteRange>;
    static void add(Ranges& ranges, const ByteRange& range);
    [[nodiscard]] static bool overlaps(const Ranges& ranges, const ByteRange& range);
    [[nodiscard]] bool is_over() const;
    [[nodiscard]] bool is_over_on_node() const;
    [[nodiscard]] WriteBehind::Counted counting();
    [[nodiscard]] bool may_meet_deferred() const;
    [[nodiscard]] int looking() const;
    [[nodiscard]] WriteBehind* behind() const;
    [[nodiscard]] bool meets_deferred(const ByteRange& range) const;
    [[nodiscard]] std::int64_t deferred_end_bytes() const;
    void count();
    void wait(const Comm& progressing);
    void forget_own(std::uint64_t num_noted, double waited_s);

    Comm comm_;
    OpenedFile& file_;
    SharedControl& control_;
    bool are_allowed_ = false;
    std::shared_ptr<Open> open_;
    mutable std::mutex mutex_;
    mutable Descriptor looking_;  // for others' locks
    struct {
        Ranges all;  // since `forget`; equal on all ranks
        Ranges own;  // of them those that this rank has not waited for
        std::uint64_t num = 0;
    } noted_;
    double waited_s_ = 0;
    bool is_settling_ = false;
    std::unique_ptr<WriteBehind, DeletedByMaker> behind_;  // made by the first `defer`
};

}  // namespace hakobi::io
