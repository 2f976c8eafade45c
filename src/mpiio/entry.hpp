#pragma once

#include "mpiio/access.hpp"
#include "mpiio/library.hpp"

namespace hakobi::mpiio {

/// The file that a call from the program is about; null for one that is not known, and for the MPI library's own call.
inline OpenFile* entered(MPI_File handle) {
    return Inside::is_nested() ? nullptr : find_file(handle);
}

/// Makes the MPI library's call.
template <class Call>
int pass(const Call& call) {
    const Inside inside;
    return call();
}

/// The same on a known file for a call that uses the individual pointer.
template <class Call>
int pass_with_pointer(OpenFile& file, const Call& call) {
    const Inside inside;
    const int error = file.pointer.hand_over(file.handle);
    return error != MPI_SUCCESS ? error : call();
}

enum class Pointer { unused, individual };

/// A data access that always passes.
template <class Call>
int pass_access(MPI_File handle, Passed why, Pointer pointer, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(call);
    file->counts.add(file->why_not.empty() ? why : Passed::file);
    return pointer == Pointer::individual ? pass_with_pointer(*file, call) : pass(call);
}

/// From now on the file's collective accesses pass, until the program must have completed the nonblocking write: the
/// MPI library may write back what it had read around this rank's bytes, over what the engine wrote meanwhile.
inline void begin_nonblocking_write(MPI_File handle) {
    if (OpenFile* const file = entered(handle)) file->has_nonblocking_writes = true;
}

/// A blocking collective access: through the engine, or passed.
template <class Call>
int collective(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(call);
    if (!takes(*file, access)) return access.offset ? pass(call) : pass_with_pointer(*file, call);
    const Outcome outcome = perform(*file, access);
    if (outcome.error == MPI_SUCCESS) set_status(status, outcome.bytes);
    return outcome.error;
}

/// The first half of a split collective, which does all the work: MPI lets either half do it, and file accesses that
/// were still under way afterwards could meet the MPI library's own (ROMIO's data sieving) on the same bytes.
template <class Call>
int split_begin(MPI_File handle, const Access& access, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(call);
    if (!takes(*file, access)) return access.offset ? pass(call) : pass_with_pointer(*file, call);
    const Outcome outcome = perform(*file, access);
    if (outcome.error == MPI_SUCCESS) file->split_bytes = outcome.bytes;
    return outcome.error;
}

/// The second half: by whoever began it.
template <class Call>
int split_end(MPI_File handle, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr || !file->split_bytes) return pass(call);
    set_status(status, *file->split_bytes);
    file->split_bytes.reset();
    return MPI_SUCCESS;
}

}  // namespace hakobi::mpiio
