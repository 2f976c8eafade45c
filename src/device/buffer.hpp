#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.hpp"
#include "device/device.hpp"
#include "device/pinned.hpp"

namespace hakobi::device {

/// Memory that copies go by: page-locked memory of the host, or memory of the device.
class Buffer {
  public:
    Buffer() = default;
    /// The buffer has at least one page. Fails with out_of_memory.
    [[nodiscard]] static Result<Buffer> locked(Device& device, std::int64_t bytes);
    [[nodiscard]] static Result<Buffer> on(Device& device, std::int64_t bytes);
    Buffer(Buffer&& other) noexcept;
    Buffer& operator=(Buffer&& other) noexcept;
    /// No copy from or to it may be under way.
    ~Buffer();

    [[nodiscard]] std::byte* data() const noexcept { return data_; }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }

  private:
    Device* device_ = nullptr;  // of memory of the device
    std::byte* data_ = nullptr;
    std::int64_t size_bytes_ = 0;
    Pinned locked_;
};

}  // namespace hakobi::device
