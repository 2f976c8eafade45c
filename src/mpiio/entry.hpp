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

/// What MPI_SEEK_END and `offset` mean, as an offset from the view's start (OMPIO forgets the view's holes): changes both, or
/// neither where only the library knows. Local.
void place_from_end(OpenFile& file, MPI_Offset& offset, int& whence);

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

/// When a rank's own access is over: when the call returns, or when the program has completed its request.
enum class Ends { at_once, later };

inline Pointer pointer_of(const Access& access) {
    return access.offset ? Pointer::unused : Pointer::individual;
}

/// An access that the file is not open for: MPI's error, the error handler called. Equal on all ranks. The libraries return
/// success from some such calls.
inline int refused(const OpenFile& file, const Access& access) {
    if (access.is_write ? file.can_write : file.can_read) return MPI_SUCCESS;
    const int error = access.is_write ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS;
    PMPI_File_call_errhandler(file.handle, error);
    return error;
}

/// The same of an access of one rank: of nothing at all, the library says what it thinks.
inline int refused_alone(const OpenFile& file, const Access& access) {
    return access.count > 0 ? refused(file, access) : MPI_SUCCESS;
}

/// `access(handle)` of this rank alone.
template <class Call>
int pass_one(OpenFile& file, const Access& access, Ends ends, const Call& call) {
    Alone alone;
    {
        std::optional<OwnWrite> own;
        if (access.is_write)
            own.emplace(file, ends == Ends::later);
        else
            wait_for_left_calls(file);
        alone = make_alone(file, pointer_of(access), call);
    }
    return alone.tell();
}

/// A data access of one rank.
template <class Call>
int pass_independent(MPI_File handle, const Access& access, Ends ends, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused_alone(*file, access); error != MPI_SUCCESS) return error;
    file->counts.add(file->why_not.empty() ? Passed::independent : Passed::file);
    return pass_one(*file, access, ends, call);
}

/// An ordered access, or the first half of one.
template <class Call>
int pass_ordered(MPI_File handle, const Access& access, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    file->counts.add(file->why_not.empty() ? Passed::shared_pointer : Passed::file);
    return pass_together(*file, Pointer::unused, call);
}

/// The blocking call of one rank, `blocking(handle, status)`, in place of a nonblocking one: its request is complete.
template <class Blocking>
auto completed(MPI_Request* request, const Blocking& blocking) {
    return [request, &blocking](MPI_File at) {
        MPI_Status status;
        const int error = blocking(at, &status);
        return error != MPI_SUCCESS ? error : completed_request(status, request);
    };
}

/// A nonblocking read of one rank.
template <class Call, class Blocking>
int pass_nonblocking_read(MPI_File handle, const Access& access, MPI_Request* request, const Call& call,
                          const Blocking& blocking) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused_alone(*file, access); error != MPI_SUCCESS) return error;
    file->counts.add(file->why_not.empty() ? Passed::independent : Passed::file);
    return may_never_end(*file, access) ? pass_one(*file, access, Ends::at_once, completed(request, blocking))
                                        : pass_one(*file, access, Ends::later, call);
}

/// A nonblocking collective access, which must not wait for other ranks to make it (a write waits for the blocking calls
/// that this rank has left before them): where the view waits, the rank makes it by
/// `alone`, the call of one rank that does the same, or what does not fit one transfer by `blocking`. So it does in Open MPI
/// always, where OMPIO does the same and ROMIO has no such calls. After a write the
/// file's collective accesses pass, until the program must have completed it: the MPI library may write back what it had
/// read around this rank's bytes, over what the engine wrote meanwhile.
template <class Call, class Alone, class Blocking>
int pass_nonblocking(MPI_File handle, const Access& access, MPI_Request* request, const Call& call,
                     const Alone& alone, const Blocking& blocking) {
#ifdef OPEN_MPI
    constexpr bool is_collective = false;
#else
    constexpr bool is_collective = true;
#endif
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    file->counts.add(file->why_not.empty() ? Passed::nonblocking : Passed::file);
    if (access.is_write) file->has_nonblocking_writes = true;
    if (is_collective && !file->library_view.is_waiting())
        return pass_together(*file, pointer_of(access), call);
    return !fits_one_transfer(access.count, access.type) || (!access.is_write && may_never_end(*file, access))
               ? pass_one(*file, access, Ends::later, completed(request, blocking))
               : pass_one(*file, access, Ends::later, alone);
}

/// A data access at the shared file pointer by this rank alone: the library must have the view (imports.hpp).
template <class Call>
int pass_shared(MPI_File handle, const Access& access, Ends ends, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused_alone(*file, access); error != MPI_SUCCESS) return error;
    file->counts.add(file->why_not.empty() ? Passed::shared_pointer : Passed::file);
    if (file->library_view.is_waiting()) return refuse_shared(*file);
    std::optional<OwnWrite> own;
    if (access.is_write)
        own.emplace(*file, ends == Ends::later);
    else
        wait_for_left_calls(*file);
    const MPI_File at = file->library_view.file();
    return told(*file, at, pass(at, [&] { return call(at); }));
}

/// A nonblocking read there: nobody knows where it will be.
template <class Call, class Blocking>
int pass_shared_read(MPI_File handle, const Access& access, MPI_Request* request, const Call& call,
                     const Blocking& blocking) {
    return reads_may_never_end ? pass_shared(handle, access, Ends::at_once, completed(request, blocking))
                               : pass_shared(handle, access, Ends::later, call);
}

/// A collective access that the engine does not take.
template <class Call>
int pass_collective(OpenFile& file, const Access& access, const Call& call) {
    return pass_together(file, pointer_of(access), call);
}

/// A blocking collective access: through the engine, or passed.
template <class Call>
int collective(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    if (!takes(*file)) return pass_collective(*file, access, call);
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
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    if (file->split != Split::none) return refuse_split(*file);
    Outcome outcome{.is_passed = !takes(*file)};
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
