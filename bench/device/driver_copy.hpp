#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "device/device.hpp"

namespace hakobi::bench {

inline constexpr const char* cuda_library = "libcuda.so.1";

/// A function of a driver's library that this process has loaded; null where there is none.
template <class Function>
[[nodiscard]] Function* driver_function(const char* library, const char* name) {
    void* const handle = ::dlopen(library, RTLD_NOW | RTLD_NOLOAD);
    if (handle == nullptr) return nullptr;
    auto* const found = reinterpret_cast<Function*>(::dlsym(handle, name));
    ::dlclose(handle);  // takes back what dlopen counted: the library stays
    return found;
}
[[nodiscard]] Status driver_failure(const char* call, int code);

/// The driver's own copy of contiguous bytes, called without this library: the floor of all others.
class DriverCopy {
  public:
    virtual ~DriverCopy() = default;
    /// To and from memory of the host or the device, in the default stream's order; returns when it is done.
    virtual Status copy(std::byte* to, const std::byte* from, std::int64_t bytes) = 0;
    /// Waits for all that the default stream holds.
    virtual Status finish() = 0;

    /// The copy functions of this device's driver, which is loaded. unsupported where it lacks a function.
    [[nodiscard]] static Result<std::unique_ptr<DriverCopy>> of(const device::Device& device);
};

}  // namespace hakobi::bench
