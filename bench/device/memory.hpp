#pragma once

#include <cstddef>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <string>
#include <utility>

#include "base/mapping.hpp"
#include "device/device.hpp"
#include "mpi/agree.hpp"

namespace hakobi::bench {

/// Ends all ranks when a driver fails in the middle: the others wait for this one.
void must(const Status& status);
template <class T>
[[nodiscard]] T must(Result<T> result) {
    must(result.status());
    return std::move(result).value();
}

/// The value, or the error of any rank on all of them. Collective.
template <class T>
[[nodiscard]] T agreed(const Comm& comm, Result<T> result) {
    mpi::agree_or_throw(comm, result.ok() ? Status() : result.status());
    return std::move(result).value();
}

/// Memory of a device.
class DeviceArray {
  public:
    [[nodiscard]] static Result<DeviceArray> make(device::Device& device, std::int64_t bytes);
    DeviceArray(DeviceArray&& other) noexcept
        : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
    DeviceArray& operator=(DeviceArray&&) = delete;
    ~DeviceArray() {
        if (data_ != nullptr) device_->release(data_);
    }
    [[nodiscard]] std::byte* data() const { return data_; }

  private:
    DeviceArray(device::Device& device, std::byte* data) : device_(&device), data_(data) {}
    device::Device* device_;
    std::byte* data_;
};

/// Page-locked memory of the host.
class LockedArray {
  public:
    [[nodiscard]] static Result<LockedArray> make(device::Device& device, std::int64_t bytes);
    LockedArray(LockedArray&&) noexcept = default;
    LockedArray& operator=(LockedArray&&) = delete;
    ~LockedArray() {
        if (memory_.data() != nullptr) device_->unlock_pages(memory_.data());
    }
    [[nodiscard]] std::byte* data() const { return memory_.data(); }
    template <class T>
    [[nodiscard]] T* as() const {
        return reinterpret_cast<T*>(memory_.data());
    }

  private:
    LockedArray(device::Device& device, Mapping memory) : device_(&device), memory_(std::move(memory)) {}
    device::Device* device_;
    Mapping memory_;
};

/// This rank's device: number (rank on its node) modulo their number. Collective; not_found alike on all ranks where one has
/// none, with what the drivers say.
[[nodiscard]] device::Device& own_device(const Comm& comm);

}  // namespace hakobi::bench
