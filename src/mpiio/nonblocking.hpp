#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>

#include "mpiio/access.hpp"
#include "mpiio/library.hpp"

namespace hakobi::mpiio {

// Finds accesses that the MPI libraries' nonblocking calls of one rank cannot make. The blocking call makes
// them, and the program gets a request that is complete. All functions are local and may be called from any
// thread.

/// Whether the kernel can move so much in one call, somewhat less than 2 GiB: ROMIO's nonblocking calls ask
/// it once, and leave the rest.
[[nodiscard]] bool fits_one_transfer(std::int64_t count, MPI_Datatype type);

/// OMPIO's nonblocking reads never end where they meet the end of the file.
[[nodiscard]] inline bool reads_may_never_end() {
    return library.is_open_mpi;
}

/// Whether this nonblocking read may be such a one.
[[nodiscard]] bool may_never_end(OpenFile& file, const Access& access);

/// Starts a request that is complete, for an access that has been performed and left `status`. Returns an MPI
/// error code.
int completed_request(const MPI_Status& status, MPI_Request* request);

}  // namespace hakobi::mpiio
