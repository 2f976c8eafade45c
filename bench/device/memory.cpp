#include "memory.hpp"

#include <cstdio>

namespace hakobi::bench {

void must(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "hakobi-bench-device: %s\n", status.text().c_str());
    MPI_Abort(MPI_COMM_WORLD, 2);
}

Result<LockedArray> LockedArray::make(device::Device& device, std::int64_t bytes) {
    auto memory = device::Pinned::of(device, bytes);
    if (!memory.ok()) return memory.status();
    if (!memory.value().is_locked())
        return Status(ErrorCode::out_of_memory,
                      device.text() + " locks no " + std::to_string(bytes) + " bytes of host memory");
    return LockedArray(std::move(memory).value());
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
