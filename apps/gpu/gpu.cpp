#include "gpu.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <hakobi/error.hpp>

#include "driver.hpp"

namespace hakobi::apps {
namespace {

/// The lowest rank that failed, -1: none. Collective.
int first_failed(const Comm& comm, bool has_failed) {
    int rank = has_failed ? comm.rank() : comm.size();
    MPI_Allreduce(MPI_IN_PLACE, &rank, 1, MPI_INT, MPI_MIN, comm.handle());
    return rank < comm.size() ? rank : -1;
}

}  // namespace

std::shared_ptr<Gpu> Gpu::open(const Comm& comm) {
    std::shared_ptr<Gpu> gpu = open_cuda(comm.node_rank());
    if (gpu == nullptr) gpu = open_hip(comm.node_rank());
    if (const int rank = first_failed(comm, gpu == nullptr); rank >= 0) {
        throw Error(
            ErrorCode::not_found,
            "rank " + std::to_string(rank) +
                " has no GPU: neither CUDA's driver (libcuda.so.1) nor HIP's (libamdhip64.so) gives one",
            rank);
    }
    gpu->self_ = gpu;
    return gpu;
}

std::shared_ptr<std::byte> Gpu::allocate(const Comm& comm, std::int64_t bytes) {
    std::shared_ptr<std::byte> memory(try_allocate(bytes), [gpu = self_.lock()](std::byte* owned) {
        if (owned != nullptr) gpu->release(owned);
    });
    if (const int rank = first_failed(comm, memory == nullptr); rank >= 0) {
        throw Error(
            ErrorCode::out_of_memory,
            "the GPU of rank " + std::to_string(rank) + " has no " + std::to_string(bytes) + " bytes left",
            rank);
    }
    return memory;
}

void* function_of(void* library, const char* name) {
    return library != nullptr ? ::dlsym(library, name) : nullptr;
}

void end_program(const char* call, int code) {
    std::fprintf(stderr, "%s fails with error %d of the GPU's driver\n", call, code);
    MPI_Abort(MPI_COMM_WORLD, 1);
    std::abort();
}

}  // namespace hakobi::apps
