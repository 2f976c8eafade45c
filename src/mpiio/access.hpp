#pragma once

#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <optional>

#include "mpiio/library_call.hpp"
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

    [[nodiscard]] Pointer pointer() const { return offset ? Pointer::unused : Pointer::individual; }
};

struct Outcome {
    int error = MPI_SUCCESS;  ///< what the call returns; the error handler has been called
    std::int64_t bytes = 0;   ///< moved by this rank
    bool is_passed =
        false;  ///< nothing was done: the engine cannot start here, and the library has the file from now on
};

/// Says which bytes of the file an access asks for, by the view, the pointer and the type; nothing where they
/// do not tell, or where offsets reach beyond 2^63. Local.
[[nodiscard]] std::optional<Region> asked_for(OpenFile& file, const Access& access);

/// Whether the engine takes a collective access; all ranks decide alike. Where it does, there is an engine on
/// return, which is collective over the file's communicator the first time. Where not, the reason is counted.
[[nodiscard]] bool takes(OpenFile& file);

/// Queues a collective access of a file whose `is_queued`: what `perform` says of it holds, but that the call
/// waits for nobody, and errors are told when the operation is over. Local.
[[nodiscard]] std::shared_ptr<Operation> start(OpenFile& file, const Access& access);

/// Performs a collective access that `takes` took. Collective over the file's communicator. A rank whose part
/// cannot be described (a type that does not decode, offsets beyond 2^63) takes part with nothing and leaves
/// its part to the MPI library's independent call. A rank whose arguments are wrong makes the call fail on
/// all ranks.
[[nodiscard]] Outcome perform(OpenFile& file, const Access& access);

}  // namespace hakobi::mpiio
