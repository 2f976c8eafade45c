#include "collectives/rounds.hpp"

#include <cassert>
#include <utility>

namespace hakobi::collectives {

Range cut(Range units, int num_parts, int part) noexcept {
    assert(units.size() >= 0 && part >= 0 && part < num_parts);
    const std::int64_t length = units.size(), each = length / num_parts, rest = length % num_parts;
    const auto begin_of = [&](std::int64_t p) { return units.begin + p * each + (p < rest ? p : rest); };
    return {begin_of(part), begin_of(part + 1)};
}

void add_message(std::vector<Message>& to, int peer, Slot slot, std::int64_t bytes) {
    if (bytes > 0) to.push_back({peer, slot, bytes});
}

void add_copy(std::vector<Copy>& to, Slot from, Slot into, std::int64_t bytes) {
    if (bytes > 0 && from != into) to.push_back({from, into, bytes, {}});
}

void add_round(Lane& lane, Round round) {
    const bool is_empty = round.before.empty() && round.sends.empty() && round.receives.empty() &&
                          round.sums.empty() && round.after.empty();
    if (!is_empty) lane.rounds.push_back(std::move(round));
}

int ring_to(const Stage& stage, int digit) noexcept {
    const int step = stage.exchange == Stage::Exchange::ring_up ? 1 : stage.radix - 1;
    return (digit + step) % stage.radix;
}

int ring_from(const Stage& stage, int digit) noexcept {
    const int step = stage.exchange == Stage::Exchange::ring_up ? stage.radix - 1 : 1;
    return (digit + step) % stage.radix;
}

bool needs_staging(const Schedule& schedule) {
    for (const Lane& lane : schedule.lanes) {
        for (const Round& round : lane.rounds) {
            bool from_input = false, to_output = false;
            for (const Message& send : round.sends)
                from_input = from_input || send.slot.buffer == Buffer::input;
            for (const Message& receive : round.receives)
                to_output = to_output || receive.slot.buffer == Buffer::output;
            if (from_input && to_output) return true;
        }
    }
    return false;
}

}  // namespace hakobi::collectives
