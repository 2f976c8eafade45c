#include "device/device.hpp"

#include <link.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "device/driver.hpp"

namespace hakobi::device {

namespace {

std::array<Driver*, 2> drivers() {
    return {&cuda_driver(), &hip_driver()};
}

/// How many libraries this process has loaded so far.
std::uint64_t num_loaded() {
    std::uint64_t num = 0;
    ::dl_iterate_phdr(
        [](dl_phdr_info* first, std::size_t, void* out) {
            *static_cast<std::uint64_t*>(out) = first->dlpi_adds;
            return 1;  // no more
        },
        &num);
    return num;
}

/// Finds the drivers that the process has. A look for a library that is not there opens files, so it is
/// repeated only when the process has loaded some library since.
void look_for_drivers() {
    static std::atomic<std::uint64_t> num_looked_at = 0;
    const std::uint64_t num = num_loaded();
    if (num_looked_at == num) return;
    for (Driver* driver : drivers()) static_cast<void>(driver->find(false));
    num_looked_at = num;
}

/// Whether this process may read the bytes at both addresses: false only if the system says no.
bool is_readable(const std::byte* first, const std::byte* last) {
    std::array<std::byte, 2> bytes{};
    const iovec to{bytes.data(), bytes.size()};
    const std::array<iovec, 2> from{iovec{const_cast<std::byte*>(first), 1},
                                    iovec{const_cast<std::byte*>(last), 1}};
    const auto num = ::process_vm_readv(::getpid(), &to, 1, from.data(), from.size(), 0);
    return num == static_cast<ssize_t>(bytes.size()) || (num < 0 && errno != EFAULT);
}

}  // namespace

Result<Device*> device_of(const void* address, std::int64_t bytes, Memory said) {
    if (said == Memory::host || bytes <= 0) return nullptr;
    const auto* first = static_cast<const std::byte*>(address);
    bool is_asked = false;
    look_for_drivers();
    for (Driver* driver : drivers()) {
        if (!driver->is_found()) continue;
        is_asked = true;
        auto found = driver->device_of(first, bytes);
        if (!found.ok() || found.value()) return found;
    }
    if (said == Memory::device)
        return Status(ErrorCode::invalid_argument,
                      "memory that is said to be a device's, and that no driver knows");
    if (is_asked && !is_readable(first, first + bytes - 1))
        return Status(ErrorCode::invalid_argument,
                      "memory that neither the host nor a device of this process has (any more)");
    return nullptr;
}

std::vector<Device*> all_devices() {
    std::vector<Device*> all;
    for (Driver* driver : drivers()) {
        if (!driver->find(true)) continue;
        const auto devices = driver->devices();
        if (devices.ok()) all.insert(all.end(), devices.value().begin(), devices.value().end());
    }
    return all;
}

std::vector<std::string> refused_drivers() {
    std::vector<std::string> texts;
    for (Driver* driver : drivers()) {
        if (!driver->find(true)) continue;
        if (const auto devices = driver->devices(); !devices.ok()) texts.push_back(devices.status().text());
    }
    return texts;
}

}  // namespace hakobi::device
