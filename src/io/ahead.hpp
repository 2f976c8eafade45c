#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <mutex>
#include <span>

#include "io/shared_control.hpp"

namespace hakobi::io {

/// Calls without a meeting. MPI asks no collective access to wait for another rank's, and a call of one
/// contiguous piece a rank has nothing to gather: its meeting would be its main cost.
///
///  1. Ranks that have met, each with one piece or nothing, *run ahead* from the next call on (`grant`,
///     `met`): a rank moves its piece and returns.
///  2. A call in the other direction ends it, and what `stop` is called for. All ranks know that alike, by
///     the order of their calls, and meet. So a read finds what was written before it, as ever.
///  3. A rank with any other request ends it alone. It closes the gate, looks which call the foremost of the
///     others has begun, and all meet from the call after that one: from its own if nobody has begun that
///     yet. A rank says which call it begins before it looks at the gate, so that the closing rank sees it or
///     it sees the gate; then it waits for the number. A rank whose call lies before it carries out its
///     request alone, without the shuffle.
///  4. Each time a rank had to, the ranks run ahead only after twice as many calls that they might have, and
///     on storage that makes each piece wait not again: what this costs a program of mixed calls is bounded.
///
/// Ranks of one node. Local view of the shared memory; a rank's calls come from one thread, `close_gate` from
/// any.
class Ahead {
  public:
    /// Where the node's memory is there; until then nothing may run ahead.
    void attach(const Comm& comm, const SharedControl& control);

    /// The leader's, in a meeting of all: whether `grant` would let the ranks run ahead on these terms.
    [[nodiscard]] bool would_grant(const AheadTerms& terms) const;
    /// The leader's, in a meeting of all: whether, and on which terms, the ranks run ahead from the next call
    /// on. `terms` are what this call would allow. Opens the gate.
    [[nodiscard]] AheadTerms grant(AheadTerms terms);
    /// Every rank's, after each meeting.
    void met(const AheadTerms& terms, bool is_write);

    /// Whether this rank carries out its next call without a meeting. Each call but `stop`'s is asked for,
    /// once.
    [[nodiscard]] bool passes(bool is_write, const Region& file, bool is_error);
    /// The same of one piece that fits the terms; false, and not asked, where it does not.
    [[nodiscard]] bool passes_piece(bool is_write, std::int64_t length_bytes);
    /// The next call meets, on all ranks.
    void stop();
    /// This rank is through with a call, whichever way it went.
    void end_call() { own_place().num_ended.store(++num_calls_, std::memory_order_release); }
    /// From some call on, the next if nobody is further, the ranks meet again. Any thread.
    void close_gate();
    /// Waits until the node's other ranks are through with the calls that this one is through with; the ranks
    /// meet again. Any thread.
    void wait_for_left_calls();

  private:
    [[nodiscard]] bool begins_before_closing(std::int64_t number);
    [[nodiscard]] bool is_before_the_meeting(std::int64_t number);
    void close(std::int64_t own_number);
    [[nodiscard]] bool fits(std::int64_t length_bytes) const;
    [[nodiscard]] RankPlace& own_place() const;
    [[nodiscard]] std::int64_t num_alone() const;
    [[nodiscard]] std::int64_t num_needed() const;

    Comm comm_;
    ControlBlock* control_ = nullptr;
    std::span<RankPlace> places_;
    // Held while the gate is closed: not granted here, the ranks may be in a meeting, whose leader opens the
    // gate anew.
    std::mutex mutex_;
    AheadTerms terms_;
    bool is_write_ = false;
    std::int64_t num_calls_ = 0;    // that this rank is through with
    std::int64_t next_number_ = 0;  // behind the call that it has begun
    // The leader's.
    std::int64_t num_calls_in_a_row_ = 0, num_needed_ = 1, num_alone_seen_ = 0;
    bool is_costly_alone_ = false;  // of the last terms
};

}  // namespace hakobi::io
