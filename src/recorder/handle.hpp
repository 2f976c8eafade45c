#pragma once

#include <cstdint>
#include <cstring>

#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>

namespace hakobi::recorder {

/// A handle as a number: a pointer in Open MPI, an int in MPICH.
template <class Handle>
std::uint64_t key_of(Handle handle) {
    std::uint64_t key = 0;
    static_assert(sizeof handle <= sizeof key);
    std::memcpy(&key, &handle, sizeof handle);
    return key;
}

}  // namespace hakobi::recorder
