#pragma once

#include <cstdint>

namespace hakobi {
inline namespace v0 {

/// Where an array is. Memory of a GPU is found by its address: CUDA's and HIP's drivers know theirs. They are
/// only asked if the program has loaded them, so host arrays cost nothing without a GPU. Managed memory
/// counts as the device's.
enum class Memory : std::uint8_t {
    automatic = 0,  ///< the driver is asked
    host = 1,       ///< the driver is not asked
    device = 2,     ///< invalid_argument if no driver knows the address
};

/// A queue of a device's work: a cudaStream_t, CUstream or hipStream_t. Null is the default stream.
using DeviceStream = void*;

}  // namespace v0
}  // namespace hakobi
