#include <algorithm>
#include <utility>

#include "collectives/layout.hpp"
#include "collectives/rounds.hpp"

namespace hakobi::collectives {
namespace {

/// One lane: in each stage the elements for the same digit lie together, are sent to the group's rank with
/// that digit, and what comes from it takes their place. After all stages the digits that named the receiver
/// name the sender.
class LaneExchange {
  public:
    /// This lane moves `bytes` of each block, from `offset_bytes` on.
    LaneExchange(int rank, const Route& route, std::int64_t block_bytes, Range part,
                 std::int64_t scratch_begin)
        : rank_(rank),
          bytes_(part.size()),
          at_(Layout::in_rank_order(route, block_bytes)),
          in_caller_(at_),
          here_{Buffer::input, part.begin},
          end_{Buffer::output, part.begin},
          scratch_begin_(scratch_begin) {}

    void run(const Route& route) {
        for (std::size_t i = 0; i < route.size(); ++i) step(route[i], i + 1 == route.size());
        Round last;
        if (here_ != end_) last.before.push_back(copy_between(at_, here_, in_caller_, end_, bytes_));
        add_round(lane_, std::move(last));
    }
    [[nodiscard]] Lane take_lane() { return std::move(lane_); }
    [[nodiscard]] std::int64_t scratch_end() const { return scratch_begin_ + num_buffers_ * buffer_bytes(); }

  private:
    [[nodiscard]] std::int64_t buffer_bytes() const { return bytes_ * at_.num_elements(); }

    void step(const Stage& stage, bool is_last) {
        Round round;
        Layout wanted{{}, bytes_};
        wanted.digits.push_back(stage);
        for (const Stage& digit : at_.digits) {
            if (digit.stride != stage.stride || digit.radix != stage.radix) wanted.digits.push_back(digit);
        }
        if (!at_.has_order_of(wanted) || at_.element_bytes != wanted.element_bytes) {
            const Slot packed = other_buffer();
            round.before.push_back(copy_between(at_, here_, wanted, packed, bytes_));
            here_ = packed;
            at_ = wanted;
        }
        const bool can_end =
            is_last && at_.has_order_of(in_caller_) && at_.element_bytes == in_caller_.element_bytes;
        const Slot to = can_end ? end_ : other_buffer();
        exchange(round, stage, to);
        add_round(lane_, std::move(round));
        here_ = to;
    }

    void exchange(Round& round, const Stage& stage, Slot to) {
        const int mine = stage.digit(rank_);
        const std::int64_t each = buffer_bytes() / stage.radix;
        add_copy(round.before, here_ + mine * each, to + mine * each, each);
        for (int step = 1; step < stage.radix; ++step) {
            const int target = (mine + step) % stage.radix,
                      source = (mine + stage.radix - step) % stage.radix;
            add_message(round.sends, stage.peer(rank_, target), here_ + target * each, each);
            add_message(round.receives, stage.peer(rank_, source), to + source * each, each);
        }
    }

    /// The one of two buffers in scratch that the data is not in.
    Slot other_buffer() {
        const Slot first{Buffer::scratch, scratch_begin_},
            second{Buffer::scratch, scratch_begin_ + buffer_bytes()};
        const bool is_second = here_ == first;
        num_buffers_ = std::max(num_buffers_, is_second ? 2 : 1);
        return is_second ? second : first;
    }

    int rank_;
    std::int64_t bytes_;
    Layout at_, in_caller_;
    Slot here_, end_;
    std::int64_t scratch_begin_;
    int num_buffers_ = 0;
    Lane lane_;
};

}  // namespace

Schedule make_alltoall(const Form& form, int rank, int num_ranks, std::int64_t block_bytes) {
    Schedule schedule;
    const int num_lanes = static_cast<int>(form.routes.size());
    for (int number = 0; number < num_lanes; ++number) {
        const Range part = cut({0, block_bytes}, num_lanes, number);
        if (part.size() == 0 || num_ranks == 0) continue;
        const Route& route = form.routes[static_cast<std::size_t>(number)];
        LaneExchange lane(rank, route, block_bytes, part, schedule.scratch_bytes);
        lane.run(route);
        schedule.scratch_bytes = lane.scratch_end();
        schedule.lanes.push_back(lane.take_lane());
    }
    return schedule;
}

}  // namespace hakobi::collectives
