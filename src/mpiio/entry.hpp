#pragma once

#include <mutex>
#include <optional>
#include <utility>

#include "mpiio/access.hpp"
#include "mpiio/library.hpp"

namespace hakobi::mpiio {

/// The file that a call from the program is about; null for one that is not known, and for the MPI library's own call.
[[gnu::always_inline]] inline OpenFile* entered(MPI_File handle) {
    return Inside::covers(handle) ? nullptr : find_file(handle);
}

/// Makes the MPI library's call on a handle.
template <class Call>
int pass(MPI_File handle, const Call& call) {
    const Inside inside(handle);
    return call();
}

enum class Pointer { unused, individual };

/// What came of a call of this rank alone.
struct Alone {
    int error = MPI_SUCCESS;
    MPI_File untold = MPI_FILE_NULL;  ///< the handle whose error handler has not been called yet

    /// Calls the handler, which may do anything: while nothing of the file is held. Returns the error.
    int tell() const {
        if (untold != MPI_FILE_NULL) PMPI_File_call_errhandler(untold, error);
        return error;
    }
};

/// Calls the file's error handler where `handle`, whose call returned `error`, is not the file's own and has none. Returns
/// the error.
inline int told(const OpenFile& file, MPI_File handle, int error) {
    if (error != MPI_SUCCESS && handle != file.handle) PMPI_File_call_errhandler(file.handle, error);
    return error;
}

/// A call of this rank alone on a known file: `call(handle)` with the handle that has the program's view.
template <class Call>
Alone make_alone(OpenFile& file, Pointer pointer, const Call& call) {
    Alone alone;
    const MPI_File own = file.handle;
    const Inside inside(own);
    MPI_File handle = MPI_FILE_NULL;
    alone.error = file.library_view.alone(handle);
    // Until the library has moved the pointer: other threads' calls must not see it before.
    std::unique_lock<std::mutex> held;
    if (alone.error == MPI_SUCCESS && pointer == Pointer::individual)
        alone.error = file.pointer.hand_over(handle, held);
    if (alone.error == MPI_SUCCESS) alone.error = call(handle);
    if (alone.error != MPI_SUCCESS && handle != own) alone.untold = own;
    return alone;
}

template <class Call>
int pass_alone(OpenFile& file, Pointer pointer, const Call& call) {
    return make_alone(file, pointer, call).tell();
}

/// Has the library open the file, and gives it the view that waits, before a call that all ranks pass. Collective where a
/// view is waiting. Returns an MPI error code, the error handler called.
int settle_view(OpenFile& file);

/// Says why a call at the shared pointer fails, and calls the file's error handler. Returns an MPI error code.
int refuse_shared(const OpenFile& file);

/// A call that all ranks of a known file make.
template <class Call>
int pass_together(OpenFile& file, Pointer pointer, const Call& call) {
    int error = settle_view(file);
    if (error != MPI_SUCCESS) return error;
    const MPI_File handle = file.library_view.file();
    {
        const Inside inside(handle);
        if (pointer == Pointer::individual) {
            std::unique_lock<std::mutex>
                held;  // not meanwhile: the call may wait for ranks whose threads want it
            error = file.pointer.hand_over(handle, held);
        }
        if (error == MPI_SUCCESS) error = call(handle);
    }
    return told(file, handle, error);
}

enum class Direction { read, write };

/// When a rank's own access is over: when the call returns, or when the program has completed its request.
enum class Ends { at_once, later };

/// A write of this rank alone.
template <class Call>
int pass_own_write(OpenFile& file, Pointer pointer, Ends ends, const Call& call) {
    Alone alone;
    {
        const OwnWrite own(file, ends == Ends::later);
        alone = make_alone(file, pointer, call);
    }
    return alone.tell();
}

/// A data access that always passes.
template <class Call>
int pass_access(MPI_File handle, Direction direction, Passed why, Pointer pointer, Ends ends,
                const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? why : Passed::file);
    if (why != Passed::independent) return pass_together(*file, pointer, call);
    if (direction == Direction::write) return pass_own_write(*file, pointer, ends, call);
    wait_for_left_calls(*file);
    return pass_alone(*file, pointer, call);
}

/// A nonblocking collective access, which must not wait for other ranks to make it (a write waits for the blocking calls
/// that this rank has left before them): where the view waits, the rank makes it by
/// `alone`, the call of one rank that does the same, or what does not fit one transfer by `blocking`. After a write the
/// file's collective accesses pass, until the program must have completed it: the MPI library may write back what it had
/// read around this rank's bytes, over what the engine wrote meanwhile.
template <class Call, class Alone, class Blocking>
int pass_nonblocking(MPI_File handle, Direction direction, Pointer pointer, std::int64_t count,
                     MPI_Datatype type, MPI_Request* request, const Call& call, const Alone& alone,
                     const Blocking& blocking) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? Passed::nonblocking : Passed::file);
    if (direction == Direction::write) file->has_nonblocking_writes = true;
    if (!file->library_view.is_waiting()) return pass_together(*file, pointer, call);
    const auto pass_one = [&](const auto& access) {
        return direction == Direction::write ? pass_own_write(*file, pointer, Ends::later, access)
                                             : pass_alone(*file, pointer, access);
    };
    if (fits_one_transfer(count, type)) return pass_one(alone);
    return pass_one([&](MPI_File at) {
        MPI_Status status;
        const int error = blocking(at, &status);
        return error != MPI_SUCCESS ? error : completed_request(status, request);
    });
}

/// A data access at the shared file pointer by this rank alone: the library must have the view (imports.hpp).
template <class Call>
int pass_shared(MPI_File handle, Direction direction, Ends ends, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    file->counts.add(file->why_not.empty() ? Passed::shared_pointer : Passed::file);
    if (file->library_view.is_waiting()) return refuse_shared(*file);
    std::optional<OwnWrite> own;
    if (direction == Direction::write)
        own.emplace(*file, ends == Ends::later);
    else
        wait_for_left_calls(*file);
    const MPI_File at = file->library_view.file();
    return told(*file, at, pass(at, [&] { return call(at); }));
}

/// A collective access that the engine does not take.
template <class Call>
int pass_collective(OpenFile& file, const Access& access, const Call& call) {
    return pass_together(file, access.offset ? Pointer::unused : Pointer::individual, call);
}

/// A blocking collective access: through the engine, or passed.
template <class Call>
int collective(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
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
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
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
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    const Split begun = std::exchange(file->split, Split::none);
    if (begun == Split::none) return refuse_split(*file);
    if (begun == Split::passed) {
        const MPI_File at = file->library_view.file();
        return told(*file, at, pass(at, [&] { return call(at); }));
    }
    set_status(status, file->split_bytes);
    return MPI_SUCCESS;
}

}  // namespace hakobi::mpiio
