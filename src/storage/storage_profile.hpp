#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "storage/concurrency.hpp"
#include "storage/service_costs.hpp"

namespace hakobi::storage {

/// How storage serves requests, as far as is known: it is higher the longer they take.
enum class Service : std::int64_t { unknown = -1, from_memory = 0, waits = 1 };

/// This process's knowledge of one storage, from all accesses of all files there: whether requests wait, what
/// an access costs, and how many I/O threads pay. A file opened later need not learn it again. Any thread.
class StorageProfile {
  public:
    /// A device's (stat's st_dev), which lasts as long as the process; 0: a new one.
    [[nodiscard]] static std::shared_ptr<StorageProfile> of_device(std::uint64_t device);

    /// The service that files opened later begin with.
    [[nodiscard]] Service service() const { return service_.load(std::memory_order_relaxed); }
    void set_service(Service service) { service_.store(service, std::memory_order_relaxed); }
    /// One access in line was over, the first of a call. `has_waited`: it slept longer than a page cache lets
    /// a caller sleep. So many in a row, `num_believed`, tell storage that makes requests wait.
    void observe_in_line(bool has_waited, int num_believed);

    // The functions below are for Accesses with at most `limit` threads: different limits learn apart.

    void observe(int limit, const ServiceSample& sample);
    /// The kernel moved a request past its page cache (true), where nobody's sleep tells, or through it.
    void observe_bypass(bool is_bypassed) { is_bypassed_.store(is_bypassed, std::memory_order_relaxed); }
    [[nodiscard]] int allowed_threads(int limit, bool is_write);
    /// Whether requests slept lately; false before the first.
    [[nodiscard]] bool blocks(int limit);
    [[nodiscard]] ServiceCosts::Cost cost(int limit, bool is_write);

  private:
    Concurrency& of(int limit);  // with mutex_ held

    std::atomic<Service> service_ = Service::unknown;
    std::atomic<int> num_waits_in_a_row_ = 0;
    std::atomic<bool> is_bypassed_ = false;
    std::mutex mutex_;  // of what follows
    std::map<int, Concurrency> threads_;
};

}  // namespace hakobi::storage
