#pragma once

#include <array>
#include <cstddef>
#include <hakobi/device.hpp>
#include <hakobi/halo.hpp>
#include <memory>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"
#include "exchange/strided_copy.hpp"
#include "mpi/device_queue.hpp"

namespace hakobi::exchange {

/// The halo's resources on the device that holds a rank's fields: memory for outgoing and incoming parts, and
/// two queues, so that both directions of the bus are used at a time.
class HaloDevice {
  public:
    /// Throws Error, as all that a plan calls: it is called in guarded parts.
    explicit HaloDevice(device::Device& device);
    HaloDevice(const HaloDevice&) = delete;
    HaloDevice& operator=(const HaloDevice&) = delete;
    /// Waits for the queues.
    ~HaloDevice();

    /// The memory belongs to this halo until that is destroyed.
    [[nodiscard]] std::byte* locked_memory(std::int64_t bytes);
    [[nodiscard]] std::byte* device_memory(std::int64_t bytes);
    /// Memory that others own, from here on until this ends.
    void lock(std::byte* memory, std::int64_t bytes);
    /// The address here of another process's memory; null where the driver does not let us.
    [[nodiscard]] std::byte* open(const device::SharedHandle& handle);
    /// Returns a list that `give` can start any number of times.
    [[nodiscard]] std::unique_ptr<device::CopyList> prepare(std::span<const Work> works);
    /// Whether this process knows the device of another one, by the same driver.
    [[nodiscard]] bool sees(const std::array<std::byte, 16>& uuid) const;
    [[nodiscard]] device::Device& device() const { return device_; }

    // The rest ends the program where the device fails; begin_after and hold_back return what is wrong with a
    // stream.

    /// From the fields, and to them.
    enum class Way { out, in };
    Status begin_after(DeviceStream stream);
    Status hold_back(DeviceStream stream);
    void give(Way way, const device::CopyList& list) { queue(way).give(list); }
    [[nodiscard]] mpi::DeviceMark mark(Way way) { return queue(way).mark(); }
    void finish() { in_.finish(); }

  private:
    mpi::DeviceQueue& queue(Way way) { return way == Way::out ? out_ : in_; }

    device::Device& device_;
    std::vector<device::Buffer> buffers_;
    std::vector<std::byte*> locked_, opened_;
    mpi::DeviceQueue out_, in_;  // waits before the rest goes
};

/// The device of a rank's fields, null: they are on the host. unsupported where they are at several places.
/// Local.
[[nodiscard]] Result<device::Device*> device_of_fields(const HaloGrid& grid,
                                                       std::span<const HaloField> fields);

}  // namespace hakobi::exchange
