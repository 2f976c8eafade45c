#include "storage/concurrency.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <cstdio>

#include "base/clock.hpp"
#include "base/descriptor.hpp"

namespace hakobi::storage {

namespace {

constexpr double smoothing = 0.5;       // of a request's share asleep
constexpr double rate_smoothing = 0.2;  // of rates, which are compared
// Share of the time from which on a request counts as waiting for storage, and below which the storage counts
// as memory again. Low: whether more threads pay is measured, but only where they are tried.
constexpr double sleeps_above = 0.1, awake_below = 0.02;
// More writers stay only for at least this gain in bytes per second: they wait for each other at the inode's
// lock. More readers stay unless they lose: where two nearly fill the storage the gain is within what single
// requests differ by.
constexpr double writers_must_gain = 1.05, readers_must_keep = 0.95;
constexpr std::int64_t num_probed = 4;  // requests that tell a rate
// Requests, for each thread, before the low number is tried for its rate: where the first request alone has
// shown that more pay, this costs more than it can tell (the second file of 256 MB of a program: 10 ms of 135
// on the model).
constexpr std::int64_t until_probe = 16, until_late_probe = 256;
constexpr double pays_clearly = 1.5;
constexpr std::int64_t first_hold = 32, longest_hold = 1024;

long voluntary_switches() {
    rusage usage{};
    return ::getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nvcsw : 0;
}

/// Seconds that this thread was runnable but not running (the second number of its schedstat): on a machine
/// with more threads than cores this is most of the difference between wall and CPU time, and says nothing
/// about the storage. 0 where the kernel does not count it.
double thread_queued_s() {
    thread_local const Descriptor descriptor(::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC));
    char text[96];
    const ssize_t length = descriptor.get() < 0 ? -1 : ::pread(descriptor.get(), text, sizeof text - 1, 0);
    if (length <= 0) return 0;
    text[length] = '\0';
    unsigned long long running_ns = 0, queued_ns = 0;
    return std::sscanf(text, "%llu %llu", &running_ns, &queued_ns) == 2
               ? 1e-9 * static_cast<double>(queued_ns)
               : 0;
}

void smooth(double& average, double value) {
    average = average == 0 ? value : average + rate_smoothing * (value - average);
}

}  // namespace

Concurrency::Concurrency(int limit, int num_cores) : limit_(std::max(1, limit)) {
    directions_[0].start = directions_[0].allowed = std::clamp(std::min(2, num_cores), 1, limit_);
}

int Concurrency::allowed(bool is_write) const noexcept {
    const Direction& direction = of(is_write);
    // The second writer that a page cache does not need spins for as long as the first request takes.
    const bool is_unknown = is_write && direction.sleep_share < 0;
    return is_unknown ? std::clamp(2, direction.allowed, limit_) : direction.allowed;
}

void Concurrency::completed(const ServiceSample& sample) {
    costs_.completed(false, sample.reads.num, sample.reads.num_bytes, sample.reads.seconds);
    costs_.completed(true, sample.writes.num, sample.writes.num_bytes, sample.writes.seconds);
    assert(sample.num_running >= 1);  // itself
    if (sample.wall_s <= 0 || sample.length_bytes <= 0) return;
    Direction& direction = directions_[sample.is_write ? 1 : 0];
    assert(direction.start <= direction.allowed && direction.allowed <= limit_);
    // The share of the request's own time: where ranks exceed cores a request may wait for a core longer than
    // for storage.
    const double own_s = sample.wall_s - sample.queued_s;
    const double share = own_s > 0 ? std::clamp(sample.asleep_s / own_s, 0.0, 1.0) : 0;
    if (direction.sleep_share < 0) direction.sleep_share = share;
    direction.sleep_share += smoothing * (share - direction.sleep_share);
    if (direction.sleep_share > sleeps_above) direction.blocks = true;
    if (direction.sleep_share < awake_below) direction.blocks = false;

    // Requests in service together share what the storage gives: the rate of all of them is what counts.
    const double rate = static_cast<double>(sample.length_bytes) * sample.num_running / sample.wall_s;
    const bool is_raised = direction.allowed > direction.start;
    const bool began_raised = sample.num_running > direction.start;
    if (!is_raised) {
        if (began_raised) return;  // before the threads were taken back
        smooth(direction.start_rate, rate);
        ++direction.num_start;
        if (direction.num_held > 0) {
            --direction.num_held;
        } else if (direction.blocks && limit_ > direction.start) {
            direction.allowed = limit_;
            direction.raised_rate = 0;
            direction.num_raised = 0;
        }
        return;
    }
    if (began_raised) {
        smooth(direction.raised_rate, rate);
        ++direction.num_raised;
    }
    if (!direction.blocks) {
        direction.allowed = direction.start;
        return;
    }
    const bool is_start_known = direction.num_start >= num_probed;
    const double least = sample.is_write ? writers_must_gain : readers_must_keep;
    const bool pays = direction.num_start > 0 && direction.raised_rate >= pays_clearly * direction.start_rate;
    // A program that writes once should not pay for the probe.
    const std::int64_t until = is_start_known ? 2 : pays ? until_late_probe : until_probe;
    if (direction.num_raised < until * limit_) return;
    direction.num_raised = 0;
    if (is_start_known && direction.raised_rate >= least * direction.start_rate) {
        direction.hold = first_hold;
        return;
    }
    direction.allowed = direction.start;
    direction.num_held = is_start_known ? direction.hold : num_probed;
    if (is_start_known) direction.hold = std::min(2 * direction.hold, longest_hold);
    direction.start_rate = 0;  // measured anew: the storage's load may have changed
    direction.num_start = 0;
}

ServiceClock::ServiceClock()
    : wall_s_(now_s()),
      cpu_s_(thread_cpu_s()),
      queued_s_(thread_queued_s()),
      voluntary_switches_(voluntary_switches()) {}

void ServiceClock::stop(ServiceSample& sample) const {
    sample.wall_s = now_s() - wall_s_;
    sample.queued_s = thread_queued_s() - queued_s_;
    sample.asleep_s = 0;
    if (voluntary_switches() > voluntary_switches_) {
        sample.asleep_s = std::max(0.0, sample.wall_s - (thread_cpu_s() - cpu_s_) - sample.queued_s);
    }
}

}  // namespace hakobi::storage
