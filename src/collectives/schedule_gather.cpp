#include <algorithm>
#include <utility>

#include "collectives/layout.hpp"
#include "collectives/rounds.hpp"

namespace hakobi::collectives {
namespace {

Lane make_allgather_lane(const Route& route, int rank, std::int64_t block_bytes, Range part, Slot scratch,
                         std::int64_t& scratch_bytes) {
    Lane lane;
    // The first stage's digit is innermost: what a rank holds after a stage lies together.
    Layout held{{route.rbegin(), route.rend()}, part.size()};
    const Layout in_caller = Layout::in_rank_order(route, block_bytes);
    const bool is_in_place = held.has_order_of(in_caller) && held.element_bytes == in_caller.element_bytes;
    const Slot base = is_in_place ? Slot{Buffer::output, 0} : scratch;
    scratch_bytes = is_in_place ? 0 : held.num_elements() * part.size();

    Slot mine = base;
    for (const Stage& stage : route) mine = mine + stage.digit(rank) * held.distance(stage.stride);
    Round first;
    add_copy(first.before, {Buffer::input, part.begin}, mine, part.size());
    add_round(lane, std::move(first));
    std::int64_t bytes = part.size();
    for (const Stage& stage : route) {
        const std::int64_t distance = held.distance(stage.stride);
        // Where the group's digit 0 begins: the digits of this and the earlier stages are 0.
        const std::int64_t offset = mine.offset_bytes - base.offset_bytes;
        const Slot group = base + (offset - offset % (distance * stage.radix));
        add_allgather_stage(
            lane, stage, rank, [&](int) { return bytes; },
            [&](int digit) { return group + digit * distance; });
        bytes *= stage.radix;
    }
    if (!is_in_place) {
        Round last;
        last.before.push_back(copy_between(held, base, in_caller, {Buffer::output, part.begin}, part.size()));
        add_round(lane, std::move(last));
    }
    return lane;
}

/// The rank that has `root`'s digits in the stages from `stage` on takes part with data.
bool holds_data(const Route& route, std::size_t stage, int rank, int root) {
    for (std::size_t i = stage; i < route.size(); ++i) {
        if (route[i].digit(rank) != route[i].digit(root)) return false;
    }
    return true;
}

/// In stage `number` the ranks that hold `range` give each of the group the part `part_of` its digit.
template <class PartOf>
void add_root_stage(Lane& lane, const Route& route, std::size_t number, int rank, int root, PartOf part_of) {
    const Stage& stage = route[number];
    if (!holds_data(route, number + 1, rank, root)) return;
    Round round;
    const int mine = stage.digit(rank), source = stage.digit(root);
    if (mine == source) {
        for (int step = 1; step < stage.radix; ++step) {
            const int digit = (mine + step) % stage.radix;
            const Range part = part_of(digit);
            add_message(round.sends, stage.peer(rank, digit), {Buffer::output, part.begin}, part.size());
        }
    } else {
        const Range part = part_of(mine);
        add_message(round.receives, stage.peer(rank, source), {Buffer::output, part.begin}, part.size());
    }
    add_round(lane, std::move(round));
}

}  // namespace

Schedule make_allgather(const Form& form, int rank, int num_ranks, std::int64_t block_bytes) {
    Schedule schedule;
    const int num_lanes = static_cast<int>(form.routes.size());
    for (int number = 0; number < num_lanes; ++number) {
        const Range part = cut({0, block_bytes}, num_lanes, number);
        if (part.size() == 0 || num_ranks == 0) continue;
        std::int64_t bytes = 0;
        schedule.lanes.push_back(make_allgather_lane(form.routes[static_cast<std::size_t>(number)], rank,
                                                     block_bytes, part,
                                                     {Buffer::scratch, schedule.scratch_bytes}, bytes));
        schedule.scratch_bytes += bytes;
    }
    return schedule;
}

Schedule make_broadcast(const Form& form, int rank, int root, std::int64_t bytes) {
    Schedule schedule;
    const int num_lanes = static_cast<int>(form.routes.size());
    for (int number = 0; number < num_lanes; ++number) {
        const Route& route = form.routes[static_cast<std::size_t>(number)];
        const Range all = cut({0, bytes}, num_lanes, number);
        Lane lane;
        if (form.is_whole) {
            for (std::size_t i = 0; i < route.size(); ++i)
                add_root_stage(lane, route, i, rank, root, [&](int) { return all; });
        } else {
            // The part that a rank holds or will hold after each stage: that of its own digits so far.
            std::vector<Range> ranges{all};
            for (const Stage& stage : route)
                ranges.push_back(cut(ranges.back(), stage.radix, stage.digit(rank)));
            for (std::size_t i = 0; i < route.size(); ++i)
                add_root_stage(lane, route, i, rank, root,
                               [&](int digit) { return cut(ranges[i], route[i].radix, digit); });
            for (std::size_t i = route.size(); i-- > 0;) {
                const auto part = [&](int digit) { return cut(ranges[i], route[i].radix, digit); };
                add_allgather_stage(
                    lane, route[i], rank, [&](int digit) { return part(digit).size(); },
                    [&](int digit) {
                        return Slot{Buffer::output, part(digit).begin};
                    });
            }
        }
        schedule.lanes.push_back(std::move(lane));
    }
    return schedule;
}

}  // namespace hakobi::collectives
