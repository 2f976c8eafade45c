#include "storage/storage_profile.hpp"

#include <cassert>

#include "base/thread.hpp"

namespace hakobi::storage {

std::shared_ptr<StorageProfile> StorageProfile::of_device(std::uint64_t device) {
    if (device == 0) return std::make_shared<StorageProfile>();
    // Never destroyed: threads may observe until the process ends.
    static auto* const mutex = new std::mutex;
    static auto* const known = new std::map<std::uint64_t, std::shared_ptr<StorageProfile>>;
    const std::scoped_lock lock(*mutex);
    std::shared_ptr<StorageProfile>& profile = (*known)[device];
    if (!profile) profile = std::make_shared<StorageProfile>();
    return profile;
}

void StorageProfile::observe_in_line(bool has_waited, int num_believed) {
    if (!has_waited) {
        num_waits_in_a_row_.store(0, std::memory_order_relaxed);
    } else if (num_waits_in_a_row_.fetch_add(1, std::memory_order_relaxed) + 1 >= num_believed) {
        set_service(Service::waits);
    }
}

Concurrency& StorageProfile::of(int limit) {
    assert(limit >= 1);
    return threads_.try_emplace(limit, limit, num_cores()).first->second;
}

void StorageProfile::observe(int limit, const ServiceSample& sample) {
    const std::scoped_lock lock(mutex_);
    of(limit).completed(sample);
}

int StorageProfile::allowed_threads(int limit, bool is_write) {
    const std::scoped_lock lock(mutex_);
    return of(limit).allowed(is_write);
}

bool StorageProfile::blocks(int limit) {
    const std::scoped_lock lock(mutex_);
    return is_bypassed_.load(std::memory_order_relaxed) || of(limit).blocks();
}

ServiceCosts::Cost StorageProfile::cost(int limit, bool is_write) {
    const std::scoped_lock lock(mutex_);
    return of(limit).cost(is_write);
}

}  // namespace hakobi::storage
