#pragma once

#include <hakobi/comm.hpp>
#include <memory>

#include "driver_copy.hpp"
#include "memory.hpp"

namespace hakobi::bench {

/// Shared by all entrants of a rank: its device, a queue of it, and the driver's own copy.
struct DeviceSite {
    Comm comm;
    device::Device& device;
    std::unique_ptr<device::Queue> queue;
    std::unique_ptr<DriverCopy> driver;

    /// Collective; throws not_found, alike on all ranks, where a rank has no device.
    [[nodiscard]] static DeviceSite make(const Comm& comm);
    /// Contiguous bytes, done on return.
    void copy(void* to, const void* from, std::int64_t bytes) {
        must(driver->copy(static_cast<std::byte*>(to), static_cast<const std::byte*>(from), bytes));
    }
};

}  // namespace hakobi::bench
