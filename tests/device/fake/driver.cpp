#include "driver.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>

#include "state.hpp"

namespace fake {

namespace {

double number(const char* name, double otherwise) {
    const char* text = std::getenv(name);
    return text ? std::strtod(text, nullptr) : otherwise;
}

int add_device() {
    auto device = std::make_unique<Device>();
    const auto bytes = static_cast<std::size_t>(settings().memory_bytes);
    device->fd = ::memfd_create("fake device", MFD_CLOEXEC);
    if (device->fd < 0 || ::ftruncate(device->fd, settings().memory_bytes)) return out_of_memory;
    void* seen = ::mmap(nullptr, bytes, PROT_NONE, MAP_SHARED | MAP_NORESERVE, device->fd, 0);
    void* own = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, device->fd, 0);
    if (seen == MAP_FAILED || own == MAP_FAILED) return out_of_memory;
    device->seen = static_cast<char*>(seen);
    device->own = static_cast<char*>(own);
    const int number = static_cast<int>(the().devices.size());
    the().devices.push_back(std::move(device));
    the().devices[number]->defaults = {add_stream(number, false), add_stream(number, true)};
    return success;
}

}  // namespace

const char* text_of(int error) {
    switch (error) {
        case success:
            return "no error";
        case invalid_value:
            return "invalid argument";
        case out_of_memory:
            return "out of memory";
        case not_initialized:
            return "initialization error";
        case deinitialized:
            return "driver shutting down";
        case no_device:
            return "no device is detected";
        case invalid_handle:
            return "invalid resource handle";
        case context_is_destroyed:
            return "context is destroyed";
        case illegal_address:
            return "an illegal memory access was encountered";
        default:
            return "another error";
    }
}

const Settings& settings() {
    static const Settings settings{
        .num_devices = static_cast<int>(number("HAKOBI_FAKE_DEVICES", 1)),
        .num_hip_devices = static_cast<int>(number("HAKOBI_FAKE_HIP_DEVICES", 0)),
        .memory_bytes = static_cast<std::int64_t>(number("HAKOBI_FAKE_DEVICE_BYTES", 1 << 30)) / 4096 * 4096,
        .delay_s = number("HAKOBI_FAKE_DEVICE_DELAY_S", 0),
        .bytes_s = number("HAKOBI_FAKE_DEVICE_BYTES_S", 0),
        .version = static_cast<int>(number("HAKOBI_FAKE_DRIVER_VERSION", 12040)),
        .hip_version = static_cast<int>(number("HAKOBI_FAKE_HIP_VERSION", 60'241'133)),
        .fails_at = static_cast<std::int64_t>(number("HAKOBI_FAKE_DEVICE_FAILS_AT", 0)),
        .num_compiling = static_cast<int>(number("HAKOBI_FAKE_NUM_COMPILING", 1'000'000)),
    };
    return settings;
}

int init(int num_devices) {
    const std::lock_guard lock(the().mutex);
    if (the().is_down) return deinitialized;
    if (the().is_up) return success;
    for (int device = 0; device < num_devices; ++device)
        if (const int error = add_device()) return error;
    std::atexit([] { the().is_down = true; });
    the().is_up = true;
    return success;
}

int state() {
    if (the().is_down) return deinitialized;
    if (!the().is_up) return not_initialized;
    return the().is_broken ? illegal_address : success;
}

Known find(const void* address) {
    const auto* at = static_cast<const char*>(address);
    const std::lock_guard lock(the().mutex);
    if (const auto found = find_allocation(at); found != the().allocations.end()) {
        const Allocation& allocation = found->second;
        return {.is_device = true,
                .is_managed = allocation.is_managed,
                .is_opened = allocation.times_opened > 0,
                .device = allocation.device,
                .begin = allocation.seen,
                .bytes = allocation.bytes};
    }
    if (const auto found = find_registered(at); found != the().registered.end())
        return {.is_registered = true,
                .is_mapped = found->second.is_mapped,
                .device = found->second.device,
                .begin = const_cast<char*>(found->first),
                .bytes = found->second.bytes};
    return {};
}

}  // namespace fake
