#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "base/clock.hpp"
#include "measure/topology.hpp"
#include "measure/window.hpp"
#include "mpi/global_clock.hpp"

namespace hakobi::measure {

/// Times what all ranks do together: caches emptied before (unless hot), one start for all ranks, the slowest
/// rank's time.
class Timing {
  public:
    /// Collective.
    Timing(const Comm& comm, const Topology& topology, bool is_hot);
    /// Collective: seconds of one `action`.
    template <class Action>
    [[nodiscard]] double sample(Action&& action) {
        start_together();
        return slowest(sample_alone(action));
    }
    /// Collective: measures the clocks' distance again.
    void settle();
    /// This rank's seconds of one `action`, without emptying caches or a common start.
    template <class Action>
    [[nodiscard]] static double sample_alone(Action&& action) {
        const double began_s = now_s();
        action();
        return now_s() - began_s;
    }
    [[nodiscard]] std::int64_t eviction_bytes() const { return eviction_bytes_; }
    [[nodiscard]] const Comm& comm() const { return comm_; }

  private:
    void start_together();
    [[nodiscard]] double slowest(double own_s) const;

    Comm comm_;
    bool is_hot_;
    std::int64_t eviction_bytes_ = 0;
    BufferWindow other_;
    mpi::GlobalClock clock_;
    bool is_yielding_;
    unsigned char mark_ = 0;
};

}  // namespace hakobi::measure
