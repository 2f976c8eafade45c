#include "io/ahead.hpp"

#include <algorithm>
#include <limits>

#include "io/policy.hpp"
#include "mpi/wait.hpp"

namespace hakobi::io {
namespace {

constexpr std::uint32_t no_gate = 0, open = 1, closing = 2, closed = 3;
constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

}  // namespace

void Ahead::attach(const Comm& comm, const SharedControl& control) {
    comm_ = comm;
    control_ = &control.block();
    places_ = control.places();
}

std::int64_t Ahead::num_alone() const {
    std::int64_t num = 0;
    for (const RankPlace& place : places_) num += place.num_alone.load(std::memory_order_relaxed);
    return num;
}

// Step 4.
std::int64_t Ahead::num_needed() const {
    if (num_alone() == num_alone_seen_) return num_needed_;
    return is_costly_alone_ ? never : std::min(2 * num_needed_, policy_limits::most_calls_before_ahead);
}

bool Ahead::would_grant(const AheadTerms& terms) const {
    return terms.is_granted && num_calls_in_a_row_ + 1 >= num_needed();
}

AheadTerms Ahead::grant(AheadTerms terms) {
    num_needed_ = num_needed();
    num_alone_seen_ = num_alone();
    num_calls_in_a_row_ = terms.is_granted ? num_calls_in_a_row_ + 1 : 0;
    if (terms.is_granted) is_costly_alone_ = terms.is_costly_alone;
    terms.is_granted = num_calls_in_a_row_ >= num_needed_;
    control_->gate.store(terms.is_granted ? open : no_gate, std::memory_order_relaxed);
    return terms;
}

void Ahead::met(const AheadTerms& terms, bool is_write) {
    const std::scoped_lock lock(mutex_);
    terms_ = terms;
    is_write_ = is_write;
}

void Ahead::stop() {
    const std::scoped_lock lock(mutex_);
    terms_.is_granted = false;
}

bool Ahead::passes(bool is_write, const Region& file, bool is_error) {
    const std::scoped_lock lock(mutex_);
    if (!terms_.is_granted) return false;
    const std::int64_t number = num_calls_;
    next_number_ = number + 1;
    if (is_write == is_write_) {
        const bool is_plain = !is_error && file.num_pieces() <= 1 && fits(file.size_bytes());
        if (is_plain && begins_before_closing(number)) return true;
        if (!is_plain) close(number);
        if (is_before_the_meeting(number)) {
            if (!is_plain && !is_error) own_place().num_alone.fetch_add(1, std::memory_order_relaxed);
            return true;
        }
    }
    terms_.is_granted = false;
    return false;
}

bool Ahead::passes_piece(bool is_write, std::int64_t length_bytes) {
    const std::scoped_lock lock(mutex_);
    if (!terms_.is_granted || is_write != is_write_ || !fits(length_bytes)) return false;
    next_number_ = num_calls_ + 1;
    if (begins_before_closing(num_calls_) || is_before_the_meeting(num_calls_)) return true;
    terms_.is_granted = false;
    return false;
}

// Step 3, of a rank that goes on. Sequentially consistent, as in `close`.
bool Ahead::begins_before_closing(std::int64_t number) {
    own_place().num_begun.store(number + 1);
    return control_->gate.load() == open;
}

bool Ahead::is_before_the_meeting(std::int64_t number) {
    mpi::wait_until(comm_, control_->gate, {}, [](std::uint32_t state) { return state == closed; });
    return number < control_->meets_from.load(std::memory_order_relaxed);
}

void Ahead::close_gate() {
    const std::scoped_lock lock(mutex_);
    if (terms_.is_granted) close(next_number_);
}

void Ahead::wait_for_left_calls() {
    close_gate();
    const std::int64_t num_ended = own_place().num_ended.load(std::memory_order_acquire);
    mpi::Wait wait(comm_);
    for (const RankPlace& place : places_)
        while (place.num_ended.load(std::memory_order_acquire) < num_ended) wait.pause();
}

// Step 3; nothing where another rank has been here.
void Ahead::close(std::int64_t own_number) {
    std::uint32_t state = open;
    if (!control_->gate.compare_exchange_strong(state, closing)) return;
    std::int64_t number = own_number;
    for (const RankPlace& place : places_) number = std::max(number, place.num_begun.load());
    control_->meets_from.store(number, std::memory_order_relaxed);
    control_->gate.store(closed);
    futex_wake_all(control_->gate);
}

bool Ahead::fits(std::int64_t length_bytes) const {
    return length_bytes == 0 || (length_bytes >= terms_.least_bytes && length_bytes <= terms_.most_bytes);
}

RankPlace& Ahead::own_place() const {
    return places_[static_cast<std::size_t>(comm_.node_rank())];
}

}  // namespace hakobi::io
