#include "memory.hpp"

#include <cstdio>

namespace hakobi::bench {

void must(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "hakobi-bench-device: %s\n", status.text().c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
}

Result<DeviceArray> DeviceArray::make(device::Device& device, std::int64_t bytes) {
    auto data = device.allocate(bytes);
    if (!data.ok()) return data.status();
    return DeviceArray(device, data.value());
}

Result<LockedArray> LockedArray::make(device::Device& device, std::int64_t bytes) {
    Mapping memory = Mapping::of(bytes, huge_page_bytes);
    if (memory.data() == nullptr)
        return Status(ErrorCode::out_of_memory, "no " + std::to_string(bytes) + " bytes of memory");
    if (Status status = device.lock_pages(memory.data(), memory.size_bytes()); !status.ok()) return status;
    return LockedArray(device, std::move(memory));
}

device::Device& own_device(const Comm& comm) {
    const std::vector<device::Device*> devices = device::all_devices();
    Status status;
    if (devices.empty()) {
        std::string text =
            "no device to measure: neither CUDA's driver (libcuda.so.1) nor HIP's (libamdhip64) gives one";
        for (const std::string& reason : device::refused_drivers()) text += "; " + reason;
        status = {ErrorCode::not_found, text};
    }
    mpi::agree_or_throw(comm, status);
    return *devices[static_cast<std::size_t>(comm.node_rank()) % devices.size()];
}

}  // namespace hakobi::bench
