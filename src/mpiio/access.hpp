#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <optional>

#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// A data access as the program asks for it.
struct Access {
    const char* call = "";  ///< "MPI_File_write_at_all"
    bool is_write = false;
    std::optional<MPI_Offset> offset =
        {};                  ///< in etypes of the view; without: at the individual pointer, which moves
    void* buffer = nullptr;  ///< a write only reads from it
    std::int64_t count = 0;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

struct Outcome {
    int error = MPI_SUCCESS;  ///< what the call returns; the error handler has been called
    std::int64_t bytes = 0;   ///< moved by this rank
    bool is_passed = false;   ///< not done: the engine cannot start here, and the file passes from now on
};

/// Whether the engine takes a collective access; all ranks decide alike. Where it does, the engine is open on return, which is
/// collective over the file's communicator the first time. Where not, the reason is counted.
[[nodiscard]] bool takes(OpenFile& file);

/// Performs a collective access that `takes` took. Collective over the file's communicator. A rank whose part cannot
/// be described (a type that does not decode, offsets beyond 2^63) takes part with nothing and leaves its part to the
/// MPI library's independent call. A rank whose arguments are wrong makes the call fail on all ranks.
[[nodiscard]] Outcome perform(OpenFile& file, const Access& access);

/// Closes the file's engine. Collective. After an error too: an engine that failed can only be closed, while MPI lets
/// the program go on (it may have made space), so its next access opens a new one.
mpi::Agreed close_engine(OpenFile& file);

/// Sets what MPI_Get_count and MPI_Get_elements will say. MPI_STATUS_IGNORE is left alone.
void set_status(MPI_Status* status, std::int64_t bytes);

/// Whether the kernel can move so much in one call, somewhat less than 2 GiB: ROMIO's nonblocking calls of one rank ask it
/// once, and leave the rest.
[[nodiscard]] bool fits_one_transfer(std::int64_t count, MPI_Datatype type);

/// OMPIO's nonblocking reads never end where they meet the end of the file.
#ifdef OPEN_MPI
inline constexpr bool reads_may_never_end = true;
#else
inline constexpr bool reads_may_never_end = false;
#endif

/// Whether this nonblocking read may be such a one. Local.
[[nodiscard]] bool may_never_end(OpenFile& file, const Access& access);

/// A request that is complete, of an access that has been performed and left `status`. Returns an MPI error code.
int completed_request(const MPI_Status& status, MPI_Request* request);

}  // namespace hakobi::mpiio
