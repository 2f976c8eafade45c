#pragma once

#include <cstdint>
#include <mutex>

#include "mpiio/file_table.hpp"
#include "mpiio/library.hpp"
#include "mpiio/own_access.hpp"

namespace hakobi::mpiio {

// How the MPI library's own calls are made on the program's files. `call` is a function of the handle, or of
// nothing, that makes the call and returns its MPI error code.

/// The file that a call from the program is about; null for one that is not known, and for the MPI library's
/// own call.
[[gnu::always_inline]] inline OpenFile* entered(MPI_File handle) {
    return Inside::covers(handle) ? nullptr : find_file(handle);
}

/// Makes the MPI library's call on a handle.
template <class Call>
int pass(MPI_File handle, const Call& call) {
    const Inside inside(handle);
    return call();
}

/// Whether a call uses and moves the individual file pointer.
enum class Pointer { unused, individual };

/// Calls the file's error handler where `handle`, whose call returned `error`, is not the program's own and
/// therefore has none. Returns the error.
inline int told(const OpenFile& file, MPI_File handle, int error) {
    if (error != MPI_SUCCESS && handle != file.facts.handle)
        PMPI_File_call_errhandler(file.facts.handle, error);
    return error;
}

/// Makes a call of this rank alone on a known file: `call(handle)` with the handle that has the program's
/// view. Local. Returns its MPI error code; `handle` is where it came from, whose error handler has been
/// called if it is the program's own.
template <class Call>
int call_alone(OpenFile& file, Pointer pointer, MPI_File& handle, const Call& call) {
    const Inside inside(file.facts.handle);
    int error = file.library_side.handles.handle_for_one_rank(handle);
    // Until the library has moved the pointer: other threads' calls must not see it before.
    std::unique_lock<std::mutex> held;
    if (error == MPI_SUCCESS && pointer == Pointer::individual)
        error = file.library_side.pointer.hand_over(handle, held);
    return error == MPI_SUCCESS ? call(handle) : error;
}

/// The same, the program's error handler called. It may do anything, so nothing of the file is held then.
template <class Call>
int pass_alone(OpenFile& file, Pointer pointer, const Call& call) {
    MPI_File handle = MPI_FILE_NULL;
    const int error = call_alone(file, pointer, handle, call);
    return told(file, handle, error);
}

/// An access of this rank alone, kept apart from collective ones (own_access.hpp). As pass_alone.
template <class Call>
int pass_access_alone(OpenFile& file, Pointer pointer, bool is_write, Ends ends, const Call& call) {
    MPI_File handle = MPI_FILE_NULL;
    int error = MPI_SUCCESS;
    {
        const OwnAccess own(file, is_write, ends);
        error = call_alone(file, pointer, handle, call);
    }
    return told(file, handle, error);
}

/// Has the library open the file, and gives it the view that is held back, before a call that all ranks make.
/// Collective where a view is held back. Returns an MPI error code, the program's error handler called.
int settle_view(OpenFile& file);

/// Makes a call that all ranks of a known file make. Collective. Returns its MPI error code, the program's
/// error handler called.
template <class Call>
int pass_together(OpenFile& file, Pointer pointer, const Call& call) {
    int error = settle_view(file);
    if (error != MPI_SUCCESS) return error;
    file.engine_side.wait_for_left_calls();  // the library may read, and write back, what ranks behind write
    const MPI_File handle = file.library_side.handles.file();
    {
        const Inside inside(handle);
        if (pointer == Pointer::individual) {
            // Not held during the call, which may wait for ranks whose threads want it.
            std::unique_lock<std::mutex> held;
            error = file.library_side.pointer.hand_over(handle, held);
        }
        if (error == MPI_SUCCESS) error = call(handle);
    }
    return told(file, handle, error);
}

/// Sets what MPI_Get_count and MPI_Get_elements will say. MPI_STATUS_IGNORE is left alone. Local.
void set_status(MPI_Status* status, std::int64_t bytes);

}  // namespace hakobi::mpiio
