#include "io/hidden_writes.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/forked.hpp"
#include "base/guard.hpp"
#include "mpi/wait.hpp"
#include "storage/range_lock.hpp"

namespace hakobi::io {
namespace {

// Between all bytes that files have and the locks of write_behind.hpp.
constexpr std::int64_t first_lock_bytes = std::int64_t{1} << 61;
static_assert(first_lock_bytes < WriteBehind::lock_shift_bytes);
// Both.
constexpr std::int64_t all_locks =
    WriteBehind::lock_shift_bytes + WriteBehind::most_offset_bytes - first_lock_bytes;

/// Locks or unlocks a byte that nobody but this open file description locks.
bool change(int descriptor, short type, int domain) {
    struct flock lock = storage::lock_on(type, first_lock_bytes + domain, 1);
    return storage::change_lock(descriptor, F_OFD_SETLK, lock) == 0;
}

}  // namespace

struct HiddenWrites::Open {
    std::mutex mutex;
    int num = 0;  // calls of this aggregator
    bool has_failed = false, is_locked = false;
    int domain = 0;
    OwnDescriptor lock_file;  // of the engine's file; opened by the first lock
    FutexWord* on_node = nullptr;
    SharedAtomic<ErrorCode>* left_error = nullptr;  // once it is held
    std::function<void(bool)> at_end;

    void tell_left(ErrorCode error) {
        ErrorCode none = ErrorCode::ok;
        if (left_error != nullptr && error != ErrorCode::ok) left_error->compare_exchange_strong(none, error);
    }
    void end(ErrorCode error) {
        const std::scoped_lock lock(mutex);
        has_failed = has_failed || error != ErrorCode::ok;
        tell_left(error);
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
    const std::scoped_lock lock(mutex_);
    return looking() >= 0 && is_held(looking()) >= 0;
}

int HiddenWrites::looking() const {
    const std::string& path = file_.name().path;
    if (looking_.get() < 0) looking_ = Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (looking_.get() < 0) looking_ = Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    return looking_.get();
}

// Output mostly grows: neighbours are one range.
void HiddenWrites::add(Ranges& ranges, const ByteRange& range) {
    for (ByteRange& each : ranges) {
        if (range.begin_bytes > each.end_bytes || range.end_bytes < each.begin_bytes) continue;
        each.begin_bytes = std::min(each.begin_bytes, range.begin_bytes);
        each.end_bytes = std::max(each.end_bytes, range.end_bytes);
        return;
    }
    ranges.push_back(range);
}

bool HiddenWrites::overlaps(const Ranges& ranges, const ByteRange& range) {
    return std::ranges::any_of(ranges, [&](const ByteRange& each) { return each.overlaps(range); });
}

void HiddenWrites::note(std::int64_t begin_bytes, std::int64_t end_bytes) {
    const std::scoped_lock lock(mutex_);
    add(noted_.all, {begin_bytes, end_bytes});
    add(noted_.own, {begin_bytes, end_bytes});
    ++noted_.num;
}

void HiddenWrites::forget() {
    const std::scoped_lock lock(mutex_);
    noted_.all.clear();
    noted_.own.clear();
    is_settling_ = false;
    // All of this rank is over, and told.
    const std::scoped_lock lock_of_open(open_->mutex);
    open_->has_failed = false;
}

double HiddenWrites::waited_s() const {
    const std::scoped_lock lock(mutex_);
    return waited_s_;
}

void HiddenWrites::forget_own(std::uint64_t num_noted, double waited_s) {
    const std::scoped_lock lock(mutex_);
    waited_s_ += waited_s;
    if (num_noted == noted_.num) noted_.own.clear();
}

bool HiddenWrites::meets(std::int64_t begin_bytes, std::int64_t end_bytes) const {
    const std::scoped_lock lock(mutex_);
    return overlaps(noted_.all, {begin_bytes, end_bytes});
}

bool HiddenWrites::is_any() const {
    const std::scoped_lock lock(mutex_);
    return !noted_.all.empty();
}

bool HiddenWrites::has_open(std::int64_t begin_bytes, std::int64_t end_bytes) const {
    const std::scoped_lock lock(mutex_);
    if (noted_.all.empty()) return false;
    return (overlaps(noted_.own, {begin_bytes, end_bytes}) && !is_over()) ||
           meets_deferred({begin_bytes, end_bytes});
}

std::int64_t HiddenWrites::open_end_bytes() const {
    const std::scoped_lock lock(mutex_);
    if (noted_.all.empty() || is_over()) return 0;
    std::int64_t end = deferred_end_bytes();
    for (const ByteRange& range : noted_.own) end = std::max(end, range.end_bytes);
    return end;
}

bool HiddenWrites::defer(std::span<const std::byte> bytes, std::int64_t offset) {
    const ByteRange range{offset, offset + static_cast<std::int64_t>(bytes.size())};
    const std::scoped_lock lock(mutex_);
    if (is_settling_ || noted_.all.empty() || is_over() || overlaps(noted_.own, range)) return false;
    if (!behind_) {
        const Status made = guarded("writes behind others", [&] {
            const Status opened = file_.need();
            if (opened.ok()) behind_.reset(new WriteBehind(*file_, file_.name().path, counting()));
            return opened;
        });
        if (!made.ok()) return false;
    }
    return !behind_->meets_others(range) && behind_->add(bytes, offset);
}

WriteBehind* HiddenWrites::behind() const {
    const std::scoped_lock lock(mutex_);
    return behind_.get();
}

bool HiddenWrites::has_deferred() const {
    const WriteBehind* const found = behind();
    return found != nullptr && found->is_any();
}

ErrorCode HiddenWrites::deferred_error() const {
    const WriteBehind* const found = behind();
    return found != nullptr ? found->error() : ErrorCode::ok;
}

ByteRange HiddenWrites::deferred_range() const {
    const WriteBehind* const found = behind();
    return found != nullptr ? found->range() : ByteRange();
}

void HiddenWrites::wait_for_deferred() {
    if (WriteBehind* const found = behind()) found->wait(comm_);
}

Status HiddenWrites::settle_deferred() {
    {
        const std::scoped_lock lock(mutex_);
        is_settling_ = true;  // another thread would defer behind the wait, and `forget` forget it
    }
    wait_for_deferred();
    return take_deferred_error();
}

Status HiddenWrites::take_deferred_error() {
    WriteBehind* const found = behind();
    return found != nullptr ? found->take_error() : Status();
}

WriteBehind::Counted HiddenWrites::counting() {
    auto* const num = &control_.block().num_deferred;
    return {[this, num] {
                num->fetch_add(1, std::memory_order_acq_rel);
                count();
            },
            [num, end = end()](ErrorCode error) {
                end(error);
                num->fetch_sub(1, std::memory_order_acq_rel);
            }};
}

bool HiddenWrites::may_meet_deferred() const {
    return comm_.num_nodes() > 1 || control_.block().num_deferred.load(std::memory_order_acquire) != 0;
}

bool HiddenWrites::meets_deferred(const ByteRange& range) const {
    return may_meet_deferred() && WriteBehind::meets(looking(), range);
}

std::int64_t HiddenWrites::deferred_end_bytes() const {
    return may_meet_deferred() ? WriteBehind::end_bytes(looking()) : 0;
}

void HiddenWrites::count() {
    const std::scoped_lock lock(open_->mutex);
    open_->on_node = &control_.block().num_hidden;
    open_->on_node->fetch_add(1, std::memory_order_acq_rel);
    ++open_->num;
}

Status HiddenWrites::begin(int domain) {
    count();
    const std::scoped_lock lock(open_->mutex);
    open_->domain = domain;
    if (comm_.num_nodes() > 1 && !open_->lock_it(file_.name().path))
        return {ErrorCode::io, file_.name().shown + ": cannot lock a byte while a write is under way: " +
                                   std::strerror(errno)};
    return {};
}

std::function<void(ErrorCode)> HiddenWrites::end() const {
    return [open = open_](ErrorCode first_error) { open->end(first_error); };
}

bool HiddenWrites::is_over_on_node() const {
    return control_.block().num_hidden.load(std::memory_order_acquire) == 0;
}

bool HiddenWrites::is_over() const {
    return is_over_on_node() && (comm_.num_nodes() == 1 || is_held(looking()) == 0);
}

void HiddenWrites::wait(const Comm& progressing) {
    const double begin_s = now_s();
    std::uint64_t num_noted = 0;
    {
        const std::scoped_lock lock(mutex_);
        if (noted_.all.empty()) return;
        num_noted = noted_.num;
    }
    mpi::wait_until(progressing, control_.block().num_hidden, {}, [](std::uint32_t num) { return num == 0; });
    // Storage that has failed since tells nothing of other nodes' writes, whose own errors do.
    const auto is_over_everywhere = [this] {
        const std::scoped_lock lock(mutex_);
        return is_over_on_node() && (comm_.num_nodes() == 1 || is_held(looking()) != 1);
    };
    mpi::Wait wait(progressing);
    while (!is_over_everywhere()) wait.pause();
    forget_own(num_noted, now_s() - begin_s);
}

bool HiddenWrites::hold(int domain, std::function<void(bool)> at_end) {
    const std::scoped_lock lock(open_->mutex);
    if (open_->num == 0) return false;
    // Without a domain it is about deferred writes, which have their locks.
    if (domain >= 0) {
        open_->domain = domain;
        if (!open_->lock_it(file_.name().path)) return false;
    }
    open_->at_end = std::move(at_end);
    open_->left_error = &control_.block().left_error;
    return true;
}

ErrorCode HiddenWrites::left_error() const {
    return control_.block().left_error.load(std::memory_order_acquire);
}

void HiddenWrites::tell_left(ErrorCode error) {
    const std::scoped_lock lock(open_->mutex);
    open_->tell_left(error);
}

int HiddenWrites::is_held(int descriptor) {
    struct flock found {};
    return storage::find_write_lock(descriptor, first_lock_bytes, all_locks, first_lock_bytes, found);
}

}  // namespace hakobi::io
