#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "contender.hpp"
#include "measure/topology.hpp"
#include "measure/window.hpp"
#include "mpi/global_clock.hpp"

namespace hakobi::bench {

/// Times single exchanges: caches emptied before (unless hot), one start for all ranks, the slowest rank's time.
class Timing {
  public:
    /// Collective.
    Timing(const Comm& comm, const measure::Topology& topology, bool is_hot);
    /// Collective: seconds of one exchange.
    [[nodiscard]] double sample(HaloContender& contender);
    /// Collective: measures the clocks' distance again.
    void settle();
    /// This rank's seconds of one exchange that follows `between`, without emptying caches or a common start.
    template <class Between>
    [[nodiscard]] double sample_alone(HaloContender& contender, Between between) {
        between();
        return time_of(contender);
    }
    [[nodiscard]] std::int64_t eviction_bytes() const { return eviction_bytes_; }
    [[nodiscard]] const Comm& comm() const { return comm_; }

  private:
    [[nodiscard]] static double time_of(HaloContender& contender);

    Comm comm_;
    bool is_hot_;
    std::int64_t eviction_bytes_ = 0;
    measure::BufferWindow other_;
    mpi::GlobalClock clock_;
    bool is_yielding_;
    unsigned char mark_ = 0;
};

}  // namespace hakobi::bench
