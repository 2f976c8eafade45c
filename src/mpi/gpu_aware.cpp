#include "mpi/gpu_aware.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <span>
#include <string_view>

namespace hakobi::mpi {
namespace {

template <class Function>
Function* found(const char* name) {
    return reinterpret_cast<Function*>(::dlsym(RTLD_DEFAULT, name));
}

}  // namespace

bool takes_memory_of(const device::Device& device) {
    const char* const said = std::getenv("HAKOBI_GPU_AWARE");
    if (said != nullptr && *said != '\0') return std::string_view(said) != "0";
    const bool is_cuda = device.driver() == "CUDA";
    // Open MPI's names, and MPICH's.
    constexpr const char* names[] = {"MPIX_Query_cuda_support", "MPIX_Query_rocm_support",
                                     "MPIX_Query_hip_support"};
    for (const char* const name : is_cuda ? std::span(names).first(1) : std::span(names).subspan(1))
        if (auto* const query = found<int()>(name)) return query() != 0;
    // Libraries that came from MPICH have only this function; these are its numbers of CUDA and HIP.
    if (auto* const query = found<int(int, int*)>("MPIX_GPU_query_support")) {
        int is_supported = 0;
        return query(is_cuda ? 0 : 2, &is_supported) == 0 && is_supported != 0;
    }
    return false;
}

}  // namespace hakobi::mpi
