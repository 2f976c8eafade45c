#pragma once

#include <utility>

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

enum class Pointer { unused, individual };

/// A call of this rank alone on a known file: `call(handle)` with the handle that has the program's view.
template <class Call>
int pass_alone(OpenFile& file, Pointer pointer, const Call& call) {
    const Inside inside;
    MPI_File handle = MPI_FILE_NULL;
    int error = file.library_view.alone(handle);
    if (error == MPI_SUCCESS && pointer == Pointer::individual) error = file.pointer.hand_over(handle);
    if (error == MPI_SUCCESS) error = call(handle);
    if (error != MPI_SUCCESS && handle != file.handle) PMPI_File_call_errhandler(file.handle, error);
    return error;
}

/// Gives the library the view that waits, on the file's handle, before a call that all ranks pass. Collective where a
/// view is waiting. Returns an MPI error code, the error handler called.
int settle_view(OpenFile& file);

/// Says why a call at the shared pointer fails, and calls the file's error handler. Returns an MPI error code.
int refuse_shared(const OpenFile& file);

/// A call that all ranks of a known file make.
template <class Call>
int pass_together(OpenFile& file, Pointer pointer, const Call& call) {
    int error = settle_view(file);
    const Inside inside;
    if (error == MPI_SUCCESS && pointer == Pointer::individual) error = file.pointer.hand_over(file.handle);
    return error != MPI_SUCCESS ? error : call(file.handle);
}

enum class Direction { read, write };

/// A data access that always passes.
template <class Call>
int pass_access(MPI_File handle, Direction direction, Passed why, Pointer pointer, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass([&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? why : Passed::file);
    const bool is_write = direction == Direction::write;
    if (why != Passed::independent) {
        pass_before_early_writes(*file);
        return pass_together(*file, pointer, call);
    }
    const OwnAccess own(*file, is_write);
    return pass_alone(*file, pointer, call);
}

/// A nonblocking collective access, which must not wait for other ranks: where the view waits, the rank makes it by
/// `alone`, the call of one rank that does the same, or what does not fit one transfer by `blocking`. After a write the
/// file's collective accesses pass, until the program must have completed it: the MPI library may write back what it had
/// read around this rank's bytes, over what the engine wrote meanwhile.
template <class Call, class Alone, class Blocking>
int pass_nonblocking(MPI_File handle, Direction direction, Pointer pointer, std::int64_t count,
                     MPI_Datatype type, MPI_Request* request, const Call& call, const Alone& alone,
                     const Blocking& blocking) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass([&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? Passed::nonblocking : Passed::file);
    if (direction == Direction::write) file->has_nonblocking_writes = true;
    pass_before_early_writes(*file);
    if (!file->library_view.is_waiting()) return pass_together(*file, pointer, call);
    if (fits_one_transfer(count, type)) return pass_alone(*file, pointer, alone);
    return pass_alone(*file, pointer, [&](MPI_File at) {
        MPI_Status status;
        const int error = blocking(at, &status);
        return error != MPI_SUCCESS ? error : completed_request(status, request);
    });
}

/// A data access at the shared file pointer by this rank alone: the library must have the view (imports.hpp).
template <class Call>
int pass_shared(MPI_File handle, Direction direction, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass([&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? Passed::shared_pointer : Passed::file);
    if (file->library_view.is_waiting()) return refuse_shared(*file);
    const OwnAccess own(*file, direction == Direction::write);
    return pass([&] { return call(handle); });
}

/// A collective access that the engine does not take.
template <class Call>
int pass_collective(OpenFile& file, const Access& access, const Call& call) {
    pass_before_early_writes(file);
    return pass_together(file, access.offset ? Pointer::unused : Pointer::individual, call);
}

/// A blocking collective access: through the engine, or passed.
template <class Call>
int collective(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass([&] { return call(handle); });
    if (!takes(*file, access)) return pass_collective(*file, access, call);
    const Outcome outcome = perform(*file, access);
    if (outcome.is_passed) return pass_collective(*file, access, call);
    if (outcome.error == MPI_SUCCESS) set_status(status, outcome.bytes);
    return outcome.error;
}

/// A split collective call that begins or ends out of turn: the MPI library's own class, the error handler called.
int refuse_split(const OpenFile& file);

/// The first half of a split collective, which does all the work: MPI lets either half do it, and file accesses that
/// were still under way afterwards could meet the MPI library's own (ROMIO's data sieving) on the same bytes.
template <class Call>
int split_begin(MPI_File handle, const Access& access, const Call& call) {
    using Split = OpenFile::Split;
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass([&] { return call(handle); });
    if (file->split != Split::none) return refuse_split(*file);
    Outcome outcome{.is_passed = !takes(*file, access)};
    if (!outcome.is_passed) outcome = perform(*file, access);
    if (outcome.is_passed) outcome.error = pass_collective(*file, access, call);
    if (outcome.error == MPI_SUCCESS) {
        file->split = outcome.is_passed ? Split::passed : Split::taken;
        file->split_bytes = outcome.bytes;
    }
    return outcome.error;
}

/// The second half: by whoever began it. Without a first one, also where that failed, the library might wait or crash.
template <class Call>
int split_end(MPI_File handle, MPI_Status* status, const Call& call) {
    using Split = OpenFile::Split;
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(call);
    const Split begun = std::exchange(file->split, Split::none);
    if (begun == Split::none) return refuse_split(*file);
    if (begun == Split::passed) return pass(call);
    set_status(status, file->split_bytes);
    return MPI_SUCCESS;
}

}  // namespace hakobi::mpiio
