#include <algorithm>
#include <utility>

#include "collectives/rounds.hpp"

namespace hakobi::collectives {
namespace {

/// One lane's elements [begin, end) of the vector, and where it may put what it receives.
class LaneReduction {
  public:
    LaneReduction(int rank, std::int64_t element_bytes, std::int64_t scratch_begin)
        : rank_(rank), element_bytes_(element_bytes), scratch_begin_(scratch_begin) {}

    /// Every rank of the group gets the others' whole range and sums in the digits' order.
    void sum_whole(const Stage& stage, Range range) {
        Round round;
        const int mine = stage.digit(rank_);
        Sum sum{at(Buffer::output, range), {}, bytes(range)};
        for (int digit = 0; digit < stage.radix; ++digit) {
            if (digit == mine) {
                sum.operands.push_back(at(source_, range));
                continue;
            }
            const Slot received = scratch(bytes(range));
            add_message(round.sends, stage.peer(rank_, digit), at(source_, range), bytes(range));
            add_message(round.receives, stage.peer(rank_, digit), received, bytes(range));
            sum.operands.push_back(received);
        }
        if (sum.bytes > 0) round.sums.push_back(std::move(sum));
        finish(std::move(round));
    }

    /// Gives every rank of the group one part of `range`, summed; returns this rank's.
    Range scatter(const Stage& stage, Range range) {
        const int mine = stage.digit(rank_);
        if (stage.exchange == Stage::Exchange::direct) {
            scatter_direct(stage, range, mine);
        } else {
            scatter_ring(stage, range, mine);
        }
        return cut(range, stage.radix, mine);
    }

    /// The way back: every rank of the group gets the others' parts of `range`.
    void gather(const Stage& stage, Range range) {
        add_allgather_stage(
            lane_, stage, rank_, [&](int digit) { return bytes(cut(range, stage.radix, digit)); },
            [&](int digit) { return at(Buffer::output, cut(range, stage.radix, digit)); });
    }

    /// With a grid of one rank nothing has been summed.
    void copy_if_unsummed(Range range) {
        if (source_ == Buffer::output) return;
        Round round;
        add_copy(round.after, at(Buffer::input, range), at(Buffer::output, range), bytes(range));
        add_round(lane_, std::move(round));
    }

    [[nodiscard]] Lane take_lane() { return std::move(lane_); }
    [[nodiscard]] std::int64_t scratch_end() const { return scratch_begin_ + most_scratch_; }

  private:
    [[nodiscard]] std::int64_t bytes(Range range) const { return range.size() * element_bytes_; }
    [[nodiscard]] Slot at(Buffer buffer, Range range) const { return {buffer, range.begin * element_bytes_}; }
    Slot scratch(std::int64_t size) {
        const Slot slot{Buffer::scratch, scratch_begin_ + used_scratch_};
        used_scratch_ += size;
        most_scratch_ = std::max(most_scratch_, used_scratch_);
        return slot;
    }
    /// Ends a stage's round: what it received is summed, so its scratch is free and the sums are in output.
    void finish(Round round) {
        add_round(lane_, std::move(round));
        used_scratch_ = 0;
        source_ = Buffer::output;
    }

    void scatter_direct(const Stage& stage, Range range, int mine) {
        Round round;
        const Range my_part = cut(range, stage.radix, mine);
        Sum sum{at(Buffer::output, my_part), {}, bytes(my_part)};
        for (int digit = 0; digit < stage.radix; ++digit) {
            if (digit == mine) {
                sum.operands.push_back(at(source_, my_part));
                continue;
            }
            const Range part = cut(range, stage.radix, digit);
            const Slot received = scratch(bytes(my_part));
            add_message(round.sends, stage.peer(rank_, digit), at(source_, part), bytes(part));
            add_message(round.receives, stage.peer(rank_, digit), received, bytes(my_part));
            sum.operands.push_back(received);
        }
        // Begin with the next digit, not with 0: else all ranks of the group send to one at first.
        std::rotate(round.sends.begin(),
                    round.sends.begin() + std::min<std::ptrdiff_t>(mine, std::ssize(round.sends)),
                    round.sends.end());
        if (sum.bytes > 0) round.sums.push_back(std::move(sum));
        finish(std::move(round));
    }

    /// Part p starts at the rank behind p's and is summed by each on its way to p.
    void scatter_ring(const Stage& stage, Range range, int mine) {
        const int to = stage.peer(rank_, ring_to(stage, mine));
        const int from = stage.peer(rank_, ring_from(stage, mine));
        const Buffer own = source_;
        int sent = ring_from(stage, mine);
        for (int step = 1; step < stage.radix; ++step) {
            const int received = ring_from(stage, sent);
            const Range out = cut(range, stage.radix, sent), in = cut(range, stage.radix, received);
            Round round;
            const Slot arrived = scratch(bytes(in));
            add_message(round.sends, to, at(step == 1 ? own : Buffer::output, out), bytes(out));
            add_message(round.receives, from, arrived, bytes(in));
            if (in.size() > 0)
                round.sums.push_back({at(Buffer::output, in), {arrived, at(own, in)}, bytes(in)});
            finish(std::move(round));
            sent = received;
        }
    }

    int rank_;
    std::int64_t element_bytes_, scratch_begin_;
    std::int64_t used_scratch_ = 0, most_scratch_ = 0;
    Buffer source_ = Buffer::input;
    Lane lane_;
};

}  // namespace

Schedule make_allreduce(const Form& form, int rank, std::int64_t count, std::int64_t element_bytes) {
    Schedule schedule;
    const int num_lanes = static_cast<int>(form.routes.size());
    for (int number = 0; number < num_lanes; ++number) {
        const Route& route = form.routes[static_cast<std::size_t>(number)];
        const Range elements = cut({0, count}, num_lanes, number);
        LaneReduction lane(rank, element_bytes, schedule.scratch_bytes);
        if (form.is_whole) {
            for (const Stage& stage : route) lane.sum_whole(stage, elements);
        } else {
            std::vector<Range> ranges{elements};
            for (const Stage& stage : route) ranges.push_back(lane.scatter(stage, ranges.back()));
            for (std::size_t i = route.size(); i-- > 0;) lane.gather(route[i], ranges[i]);
        }
        lane.copy_if_unsummed(elements);
        schedule.scratch_bytes = lane.scratch_end();
        schedule.lanes.push_back(lane.take_lane());
    }
    return schedule;
}

}  // namespace hakobi::collectives
