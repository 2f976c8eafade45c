#pragma once

#include <array>
#include <cstdint>

#include "storage/service_costs.hpp"

namespace hakobi::storage {

/// Calls of a File that one thread made one after the other.
struct AccessTotals {
    std::int64_t num = 0, num_bytes = 0;
    double seconds = 0;
    void add(std::int64_t bytes, double s) {
        ++num;
        num_bytes += bytes;
        seconds += s;
    }
};

/// The cost of one request to its thread.
struct ServiceSample {
    bool is_write = false;
    std::int64_t length_bytes = 0;
    double wall_s = 0;
    double asleep_s =
        0;  ///< of it: given up by the thread itself to wait, not taken from it by the scheduler
    double queued_s = 0;         ///< of it: taken from it by the scheduler
    int num_running = 1;         ///< requests in service when this one began, itself included
    AccessTotals reads, writes;  ///< the calls that it was made of
};

/// Decides how many I/O threads may work at once on one file. A page cache gains nothing from a second writer
/// (both take the inode's lock, and the waiting one spins on a core that the shuffle needs); a disk, a
/// network and a parallel file system need several requests in flight. So:
///  1. Begin low, until the first request is over with two, and go to the limit as soon as a request sleeps.
///  2. Some requests later compare the rates of all requests in service together: more writers stay where
///     they move more bytes, more readers unless they move fewer. Where the low number was left before its
///     rate was known, go back to it for a few requests first.
///  3. Where they do not, go back, and try again after a hold, which doubles each time.
/// Pure; not thread-safe.
class Concurrency {
  public:
    /// `limit` >= 1 threads; `num_cores` is what reads from memory may begin with (at most 2).
    Concurrency(int limit, int num_cores);

    [[nodiscard]] int limit() const noexcept { return limit_; }
    [[nodiscard]] int allowed(bool is_write) const noexcept;
    void completed(const ServiceSample& sample);
    /// Whether requests slept lately, in either direction.
    [[nodiscard]] bool blocks() const noexcept { return directions_[0].blocks || directions_[1].blocks; }
    /// Whether requests have been seen, and none of the late ones slept.
    [[nodiscard]] bool serves_from_memory() const noexcept {
        return !blocks() && (directions_[0].sleep_share >= 0 || directions_[1].sleep_share >= 0);
    }
    /// The cost of an access here.
    [[nodiscard]] ServiceCosts::Cost cost(bool is_write) const {
        return costs_.of(is_write, serves_from_memory());
    }

  private:
    struct Direction {
        int start = 1;
        int allowed = 1;
        bool blocks = false;
        double sleep_share = -1;  ///< smoothed share of a request's own time asleep; negative: no request yet
        double start_rate = 0;    ///< smoothed bytes/s while only `start` threads were allowed
        std::int64_t num_start = 0;   ///< samples in it
        double raised_rate = 0;       ///< the same while more were
        std::int64_t num_raised = 0;  ///< samples since it was raised
        std::int64_t num_held = 0;    ///< samples to stay at `start`, after more threads did not pay
        std::int64_t hold = 32;       ///< length of the next hold
    };
    [[nodiscard]] const Direction& of(bool is_write) const noexcept { return directions_[is_write ? 1 : 0]; }

    int limit_;
    std::array<Direction, 2> directions_;  // reads, writes
    ServiceCosts costs_;
};

/// Measures one request on the calling thread.
class ServiceClock {
  public:
    ServiceClock();
    /// Wall time since construction and the parts of it asleep and queued.
    void stop(ServiceSample& sample) const;

  private:
    double wall_s_;
    double cpu_s_;
    double queued_s_;
    long voluntary_switches_;
};

}  // namespace hakobi::storage
