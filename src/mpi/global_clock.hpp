#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpi {

/// One clock for all ranks, rank 0's: a benchmark starts all ranks at one moment of it, not when they happen
/// to leave a barrier (which lets ranks go one after the other, over as long as the barrier itself takes).
///
/// 1. Ranks of one node share the monotonic clock; one rank of each other node measures for all of its node.
/// 2. That rank asks rank 0 for its time `num_exchanges` times. The exchange with the shortest round trip is
///    believed: its answer was read between the asking and the getting, so halfway errs by half the round
///    trip at most.
/// 3. `agree_start` picks a moment after every rank's present, by one all-reduce.
class GlobalClock {
  public:
    /// Collective. Clocks of different nodes drift (up to 50 us a second): measure again every few seconds.
    [[nodiscard]] static GlobalClock synchronize(const Comm& comm, int num_exchanges = 64);

    [[nodiscard]] double to_global(double local_s) const noexcept { return local_s - offset_s_; }
    [[nodiscard]] double to_local(double global_s) const noexcept { return global_s + offset_s_; }
    /// This rank's now_s() less rank 0's at the same moment, and how far it may be wrong. 0 and 0 on rank 0's
    /// node.
    [[nodiscard]] double offset_s() const noexcept { return offset_s_; }
    [[nodiscard]] double uncertainty_s() const noexcept { return uncertainty_s_; }

    /// Collective; `delay_s` equal on all ranks: the moment, on this rank's now_s(), that lies `delay_s`
    /// after the latest rank's call. Ranks that come out of the all-reduce later than that started late:
    /// compare with now_s().
    [[nodiscard]] double agree_start(const Comm& comm, double delay_s) const;

  private:
    double offset_s_ = 0;
    double uncertainty_s_ = 0;
};

/// Returns at `local_s` of now_s(), at once when it has passed. Polls, so that the processor stays awake;
/// with `is_yielding` it lets other processes run meanwhile (more ranks than cores).
void wait_until(double local_s, bool is_yielding);

}  // namespace hakobi::mpi
