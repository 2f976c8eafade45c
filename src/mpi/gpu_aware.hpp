#pragma once

#include "device/device.hpp"

namespace hakobi::mpi {

/// Whether the MPI library sends from and receives into this device's memory: what HAKOBI_GPU_AWARE (0 or 1)
/// says, or what the library says where it has one of the calls that tell. Local; after MPI_Init.
[[nodiscard]] bool takes_memory_of(const device::Device& device);

}  // namespace hakobi::mpi
