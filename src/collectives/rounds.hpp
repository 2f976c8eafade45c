#pragma once

#include "collectives/schedule.hpp"

namespace hakobi::collectives {

// Building blocks that the schedules of several operations share.

inline Slot operator+(Slot slot, std::int64_t bytes) noexcept {
    slot.offset_bytes += bytes;
    return slot;
}

/// Leaves out what is empty.
void add_message(std::vector<Message>& to, int peer, Slot slot, std::int64_t bytes);
void add_copy(std::vector<Copy>& to, Slot from, Slot into, std::int64_t bytes);
void add_round(Lane& lane, Round round);

/// The digit of the neighbour to which a ring sends, and of the one from which it receives.
[[nodiscard]] int ring_to(const Stage& stage, int digit) noexcept;
[[nodiscard]] int ring_from(const Stage& stage, int digit) noexcept;

/// The group exchanges parts: rank with digit j has part `part_of(j)` at `at(j)` and everybody gets all of
/// them.
template <class BytesOf, class SlotOf>
void add_allgather_stage(Lane& lane, const Stage& stage, int rank, BytesOf bytes_of, SlotOf at) {
    const int mine = stage.digit(rank);
    if (stage.exchange == Stage::Exchange::direct) {
        Round round;
        for (int step = 1; step < stage.radix; ++step) {
            const int to = (mine + step) % stage.radix, from = (mine + stage.radix - step) % stage.radix;
            add_message(round.sends, stage.peer(rank, to), at(mine), bytes_of(mine));
            add_message(round.receives, stage.peer(rank, from), at(from), bytes_of(from));
        }
        add_round(lane, std::move(round));
        return;
    }
    const int to = ring_to(stage, mine), from = ring_from(stage, mine);
    for (int held = mine, step = 1; step < stage.radix; ++step) {
        Round round;
        const int next = ring_from(stage, held);
        add_message(round.sends, stage.peer(rank, to), at(held), bytes_of(held));
        add_message(round.receives, stage.peer(rank, from), at(next), bytes_of(next));
        add_round(lane, std::move(round));
        held = next;
    }
}

}  // namespace hakobi::collectives
