#pragma once

#include <pthread.h>

#include <atomic>
#include <thread>

namespace hakobi::bench {

/// As long as it lives the calling thread stands still for `pause_s` in every `period_s`, as the process of a
/// busy core does; threads beside it go on. The calls that it interrupts do not notice: a signal's handler
/// sleeps. For one thread at a time.
class SlowRank {
  public:
    SlowRank(double pause_s, double period_s);
    ~SlowRank();
    SlowRank(const SlowRank&) = delete;
    SlowRank& operator=(const SlowRank&) = delete;

  private:
    pthread_t slowed_;
    std::atomic<bool> is_over_{false};
    std::thread clock_;
};

}  // namespace hakobi::bench
