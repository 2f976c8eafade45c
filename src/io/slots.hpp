#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "base/futex.hpp"
#include "base/thread.hpp"
#include "io/choice.hpp"
#include "io/plan.hpp"
#include "node/team.hpp"
#include "region/copy.hpp"

namespace hakobi::io {

// The shared memory of one node: of its crew (crew.hpp) the aggregators' states, beside the collective
// buffers; of an open file the control block. The head of engine.cpp says who writes what when; this file is
// the layout. Everything is plain data and lock-free atomics.

constexpr int max_depth = 256;                    // collective buffers of one aggregator
constexpr std::int64_t mailbox_bytes = 16 << 10;  // a small request travels in its rank's mailbox
constexpr int mailbox_pieces = 64;

/// How an aggregator's buffers, or a node's staging buffers, are divided into rings, one a lane: each takes
/// its own turns, so that a ring whose server does not answer holds up no other.
struct Rings {
    int num = 1;
    int num_slots = 0;            ///< of each
    std::int64_t slot_bytes = 0;  ///< of a buffer

    [[nodiscard]] int total() const { return num * num_slots; }
    [[nodiscard]] std::uint32_t slot_of(int ring, std::uint32_t turn) const {
        return static_cast<std::uint32_t>(ring * num_slots) + turn % static_cast<std::uint32_t>(num_slots);
    }
    [[nodiscard]] int ring_of(std::uint32_t slot) const { return static_cast<int>(slot) / num_slots; }
    /// The turn that a slot begins with.
    [[nodiscard]] std::uint32_t first_turn(std::uint32_t slot) const {
        return slot % static_cast<std::uint32_t>(num_slots);
    }
    friend bool operator==(const Rings&, const Rings&) = default;
};

/// A collective buffer's state. A *turn* is the number of a used cycle in its lane's order, through all
/// phases of all files; of n buffers of a ring, the b-th serves the turns b, b + n, b + 2 n, …
struct alignas(64) Slot {
    /// Writing: the turn that may be deposited. Reading: `filled | turn` when that turn's bytes are in.
    FutexWord turn;
    FutexWord num_arrived;  ///< contributions deposited (writing) or collected (reading) of this turn

    /// A contribution is in (out); whether it was the last of so many, behind all others.
    [[nodiscard]] bool arrive(std::uint32_t expected) {
        return num_arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == expected;
    }
    /// Nothing has arrived of the turn that is opened next.
    void clear() { num_arrived.store(0, std::memory_order_relaxed); }
    /// From here on the buffer is the ranks' again. `changed`: the word of those who wait for any buffer.
    void open(std::uint32_t to, FutexWord* changed) {
        turn.store(to, std::memory_order_release);
        futex_wake_all(turn);
        if (changed == nullptr) return;
        changed->fetch_add(1, std::memory_order_release);
        futex_wake_all(*changed);
    }

    static constexpr std::uint32_t filled = 1u << 31;
    /// From here on turns are numbered from 0 again (Crew::keep_turns_in_range).
    static constexpr std::uint32_t most_turns = 1u << 30;
};

/// Buffers whose turn is complete, on their way to the aggregator's dispatcher: `size` of them at most, and a
/// power of two, since what is counted wraps.
template <std::uint32_t size>
struct QueueOfSlots {
    static_assert((size & (size - 1)) == 0);
    alignas(64) FutexWord num_pushed;  ///< the dispatcher sleeps on it
    alignas(64) SharedAtomic<std::uint32_t> tail;
    std::array<SharedAtomic<std::uint32_t>, size> entries;  ///< slot + 1, 0 while empty

    /// Any rank's. Acquires, by `tail`, what those before it have: one of them has used a buffer again that
    /// left the queue behind this entry's last one, so that the entry is known to be empty.
    void push(std::uint32_t slot) {
        const std::uint32_t at = tail.fetch_add(1, std::memory_order_acq_rel) % size;
        entries[at].store(slot + 1, std::memory_order_release);
        num_pushed.fetch_add(1, std::memory_order_release);
        futex_wake_one(num_pushed);
    }

    // The dispatcher's, which has taken so many.

    [[nodiscard]] bool has_more(std::uint32_t num_taken) const {
        return num_pushed.load(std::memory_order_acquire) != num_taken;
    }
    /// Until there may be more; `timeout_s` at most.
    void wait(std::uint32_t num_taken, double timeout_s) { futex_wait(num_pushed, num_taken, timeout_s); }
    /// The next one, of which there is more. Null while it is on its way: who pushes takes an entry before it
    /// counts, but a later one may count first.
    [[nodiscard]] std::optional<std::uint32_t> take(std::uint32_t num_taken) {
        SharedAtomic<std::uint32_t>& entry = entries[num_taken % size];
        const std::uint32_t value = entry.load(std::memory_order_acquire);
        if (value == 0) return std::nullopt;
        entry.store(0, std::memory_order_release);
        return value - 1;
    }
};
using ReadyQueue = QueueOfSlots<max_depth>;

struct AggregatorState {
    ReadyQueue ready;
    std::array<Slot, max_depth> slots;
    /// A contribution to a buffer is in (out); the last one passes it on.
    void arrive(std::uint32_t slot, std::uint32_t expected) {
        if (slots[slot].arrive(expected)) ready.push(slot);
    }
};

inline void lower(SharedAtomic<std::int64_t>& value, std::int64_t to) {
    std::int64_t known = value.load(std::memory_order_relaxed);
    while (to < known && !value.compare_exchange_weak(known, to)) {
    }
}

/// Counts the contributions of the node's ranks (and, for an aggregator here, of the other nodes) to one
/// cycle.
struct CycleTally {
    SharedAtomic<std::uint32_t> num_local;                ///< ranks of this node
    SharedAtomic<std::uint32_t> num_remote;               ///< other nodes; set by the aggregator's rank
    SharedAtomic<std::int64_t> bytes;                     ///< of this node's ranks
    SharedAtomic<std::uint64_t> boundaries;               ///< Coverage::boundaries of this node's ranks
    SharedAtomic<std::int64_t> wanted_begin, wanted_end;  ///< reading: where the first and the last piece lie
    /// [begin, end) in the file holds all pieces of one contribution.
    void want(std::int64_t begin, std::int64_t end) {
        lower(wanted_begin, begin);
        std::int64_t known = wanted_end.load(std::memory_order_relaxed);
        while (end > known && !wanted_end.compare_exchange_weak(known, end)) {
        }
    }
    void add(const Coverage& part) {
        num_local.fetch_add(1, std::memory_order_relaxed);
        bytes.fetch_add(part.bytes, std::memory_order_relaxed);
        boundaries.fetch_add(part.boundaries, std::memory_order_relaxed);
    }
    [[nodiscard]] std::uint32_t num_contributions() const {
        return num_local.load(std::memory_order_relaxed) + num_remote.load(std::memory_order_relaxed);
    }
    [[nodiscard]] Coverage sum() const {
        return {bytes.load(std::memory_order_relaxed), boundaries.load(std::memory_order_relaxed)};
    }
    void reset() {
        num_local.store(0, std::memory_order_relaxed);
        num_remote.store(0, std::memory_order_relaxed);
        bytes.store(0, std::memory_order_relaxed);
        boundaries.store(0, std::memory_order_relaxed);
        wanted_begin.store(std::numeric_limits<std::int64_t>::max(), std::memory_order_relaxed);
        wanted_end.store(0, std::memory_order_relaxed);
    }
};

struct MailPiece {
    std::int64_t offset_bytes = 0, length_bytes = 0;
};

/// One rank's place in the node's memory.
struct alignas(64) RankPlace {
    RequestSummary request;
    SharedAtomic<std::int64_t> num_ended;  ///< calls that this rank is through with
    std::int64_t is_small = 0;             ///< the whole request is in the mailbox below
    std::int64_t num_mail_pieces = 0;
    std::int64_t bytes_read = 0;  ///< small reads: bytes of the request that the file had
    SharedAtomic<std::int64_t>
        num_begun;  ///< calls that this rank has begun, as far as it runs ahead (ahead.hpp)
    SharedAtomic<std::int64_t> num_alone;  ///< carried out alone since another rank was ahead
    CoreSet cores;                         ///< where this rank may run, said before the first call
    node::SharedText error_text;
    std::array<MailPiece, mailbox_pieces> pieces;
    alignas(64) std::array<std::byte, mailbox_bytes> mail;
};

/// The leader's word to its node at the end of a round.
struct LeaderWord {
    RequestTotals totals;
    Choice choice;
    AheadTerms ahead;
    std::int64_t error_code = 0, error_rank = -1;
    node::SharedText error_text;
};

struct ControlBlock {
    node::TeamMemory team;
    SharedAtomic<Service> service;  ///< as the leader knew it at open
    LeaderWord word;
    alignas(64) FutexWord gate;             ///< of ranks that run ahead (ahead.hpp)
    SharedAtomic<std::int64_t> meets_from;  ///< the call from which they meet again, once it is closed
    alignas(64) FutexWord num_hidden;  ///< elective hidden writes under way on this node, deferred ones too
    SharedAtomic<std::int64_t> num_deferred;  ///< of them ranks' own (write_behind.hpp)
    SharedAtomic<ErrorCode> left_error;       ///< the first one behind a hidden close (HiddenWrites::hold)
    alignas(64) SharedAtomic<
        std::int64_t> end_of_file;  ///< reading: lowest offset known to lie behind the file's end
    // RankPlace[node_size], CycleTally[max_cycles_of_phase] and
    // NodeParts::Bytes[node_size][max_cycles_of_phase] follow.
};

}  // namespace hakobi::io
