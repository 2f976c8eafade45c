#pragma once

#include <hakobi/device.hpp>

#include "base/status.hpp"
#include "device/buffer.hpp"
#include "device/device.hpp"
#include "mpi/device_queue.hpp"

namespace hakobi::collectives {

/// Bytes of the caller's memory for a request.
struct Lent {
    std::int64_t input_bytes = 0, output_bytes = 0;
};

/// The caller's memory for one operation.
struct Ends {
    const void* input = nullptr;
    void* output = nullptr;
    device::Device *input_device = nullptr, *output_device = nullptr;  ///< null: on the host
    bool is_output_read = false;                                       ///< a broadcast's root sends it
    [[nodiscard]] bool are_on_host() const { return input_device == nullptr && output_device == nullptr; }
    [[nodiscard]] device::Device* device() const {
        return input_device != nullptr ? input_device : output_device;
    }

    /// Finds out where they are. Throws Error: unsupported for two devices.
    [[nodiscard]] static Ends of(const void* input, void* output, const Lent& lent);
};

/// Page-locked memory of a plan by which values on a device go: the operation itself has to do with the host
/// alone. It is made in the plan's first operation with values there, which the ranks start without waiting
/// for each other: one that has no stream or no memory for it ends the program, since the others would wait.
class DeviceEnds {
  public:
    DeviceEnds(device::Device& device, const Lent& lent);
    [[nodiscard]] const device::Device& device() const { return device_; }
    [[nodiscard]] std::int64_t size_bytes() const { return input_.size_bytes() + output_.size_bytes(); }

    /// Gives the queue the copy of the input, after what `stream` holds. Throws invalid_argument for a stream
    /// of another device, and has then begun nothing.
    void begin(const Ends& ends, DeviceStream stream);
    /// Whether it is here: at `input` and `output`, which are for the operation.
    [[nodiscard]] bool has_input() { return loaded_.is_over(); }
    [[nodiscard]] const void* input() const { return host_input_; }
    [[nodiscard]] void* output() const { return host_output_; }
    /// Gives the queue the copy of the output.
    void take_output();
    [[nodiscard]] bool has_output() { return landed_.is_over(); }
    void wait_for_output(const Comm& comm) { landed_.wait(comm); }
    Status hold_back(DeviceStream stream) { return queue_.hold_back(stream); }

  private:
    device::Device& device_;
    Lent lent_;
    device::Buffer input_, output_;
    Ends ends_;
    const std::byte* host_input_ = nullptr;
    std::byte* host_output_ = nullptr;
    mpi::DeviceMark loaded_, landed_;
    mpi::DeviceQueue queue_;  // ends before the memory that it copies from and to
};

}  // namespace hakobi::collectives
