#pragma once

#include <hakobi/comm.hpp>
#include <memory>
#include <utility>

#include "base/futex.hpp"
#include "base/status.hpp"
#include "device/device.hpp"

namespace hakobi::mpi {

// A device's queue as operations under way use it (under_way.hpp): where the device fails, the other ranks
// would wait for this one, and the program ends as it does when MPI fails.

/// A point in a queue, or none, which is over.
class DeviceMark {
  public:
    DeviceMark() = default;
    explicit DeviceMark(std::unique_ptr<device::Mark> mark) : mark_(std::move(mark)) {}
    /// Asks the device until it says yes. Does not wait.
    [[nodiscard]] bool is_over();
    /// Waits for that. MPI and what is under way go on.
    void wait(const Comm& comm, Patience patience = {});

  private:
    std::unique_ptr<device::Mark> mark_;
};

class DeviceQueue {
  public:
    DeviceQueue() = default;
    explicit DeviceQueue(std::unique_ptr<device::Queue> queue) : queue_(std::move(queue)) {}
    DeviceQueue(DeviceQueue&&) = default;
    DeviceQueue& operator=(DeviceQueue&& other) noexcept {
        std::swap(queue_, other.queue_);
        return *this;
    }
    /// Waits for what it was given; at the end of the program there may be no device left to do so.
    ~DeviceQueue();
    /// Throws Error where the device has none left.
    [[nodiscard]] static DeviceQueue of(device::Device& device);

    /// As device::Queue's; the status is that of a stream which is none of the device's.
    Status begin_after(DeviceStream stream);
    Status hold_back(DeviceStream stream);
    void give(const device::Copy& copy);
    void give(const device::CopyList& list);
    [[nodiscard]] DeviceMark mark();
    /// Waits for everything.
    void finish();

  private:
    std::unique_ptr<device::Queue> queue_;
};

}  // namespace hakobi::mpi
