#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "mpiio/access.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/library_call.hpp"
#include "mpiio/nonblocking.hpp"
#include "mpiio/requests.hpp"

namespace hakobi::mpiio {

// How the entry points (entries.hpp) treat a call of the program, by the kind of the call. Each returns what
// the program's call returns, the file's error handler called. `call(handle)` makes the MPI library's call of
// the same name. A handle that the drop-in does not know goes straight on to the library.

/// Turns MPI_SEEK_END and `offset` into an offset from the view's start (OMPIO forgets the view's holes).
/// Changes both arguments, or neither where only the library knows the end. Local.
void place_from_end(OpenFile& file, MPI_Offset& offset, int& whence);

/// Says on stderr why a call with the shared file pointer fails. Local.
int refuse_shared(const OpenFile& file);

/// Queues a nonblocking collective access and makes its request. Local. Returns an MPI error code, the
/// handler called.
int start_with_request(OpenFile& file, const Access& access, MPI_Request* request);

/// The second half of a split collective that is queued: waits for it.
int end_split(OpenFile& file, const char* call, MPI_Status* status);

/// Refuses a split collective call that begins or ends out of turn, with the MPI library's own error class.
/// Local.
int refuse_split(const OpenFile& file);

/// Calls the file's error handler, and returns the error.
inline int refuse(const OpenFile& file, int error) {
    PMPI_File_call_errhandler(file.facts.handle, error);
    return error;
}

/// Refuses an access that the file is not open for; MPI_SUCCESS for others. Equal on all ranks. The libraries
/// return success from some such calls.
inline int refused(const OpenFile& file, const Access& access) {
    if (access.is_write ? file.facts.can_write() : file.facts.can_read()) return MPI_SUCCESS;
    return refuse(file, access.is_write ? MPI_ERR_READ_ONLY : MPI_ERR_ACCESS);
}

/// The same of an access of one rank: of nothing at all, the library says what it thinks.
inline int refused_alone(const OpenFile& file, const Access& access) {
    return access.count > 0 ? refused(file, access) : MPI_SUCCESS;
}

/// A data access of one rank.
template <class Call>
int pass_independent(MPI_File handle, const Access& access, Ends ends, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused_alone(*file, access); error != MPI_SUCCESS) return error;
    file->count_passed(Passed::independent);
    settle_for(*file, access);
    return pass_access_alone(*file, access.pointer(), access.is_write, ends, call);
}

/// A blocking write of one rank.
template <class Call>
int write_alone(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file != nullptr && file->facts.can_write()) {
        if (const std::optional<std::int64_t> bytes = defer(*file, access)) {
            file->counts.deferred.fetch_add(1, std::memory_order_relaxed);
            set_status(status, *bytes);
            return MPI_SUCCESS;
        }
    }
    return pass_independent(handle, access, Ends::at_once, call);
}

/// An ordered access, or the first half of one.
template <class Call>
int pass_ordered(MPI_File handle, const Access& access, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    file->count_passed(Passed::shared_pointer);
    settle(*file);
    return pass_together(*file, Pointer::unused, call);
}

/// The blocking call of one rank, `blocking(handle, status)`, in place of a nonblocking one: its request is
/// complete.
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
    file->count_passed(Passed::independent);
    settle_for(*file, access);
    return may_never_end(*file, access)
               ? pass_access_alone(*file, access.pointer(), false, Ends::at_once,
                                   completed(request, blocking))
               : pass_access_alone(*file, access.pointer(), false, Ends::later, call);
}

/// A nonblocking collective access. It must not wait for other ranks to make it: the queue does
/// (operation_queue.hpp).
///
/// Without a queue it is the library's (a write waits for the blocking calls that this rank has left before).
/// There, where the view is held back, the rank makes it by `alone`, the nonblocking call of one rank that
/// does the same, or by `blocking` what that cannot do. In Open MPI it always does: OMPIO does the same, and
/// ROMIO has no such calls there. After a write the file's collective accesses go to the library, until the
/// program must have completed it: the library may write back what it had read around this rank's bytes, over
/// what the engine wrote meanwhile.
template <class Call, class Alone, class Blocking>
int pass_nonblocking_collective(MPI_File handle, const Access& access, MPI_Request* request, const Call& call,
                                const Alone& alone, const Blocking& blocking) {
    const bool is_collective = !library.is_open_mpi;
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    if (request == nullptr) return refuse(*file, MPI_ERR_REQUEST);
    if (file->is_queued() && can_make_requests()) return start_with_request(*file, access, request);
    file->count_passed(Passed::nonblocking);
    settle(*file);
    if (access.is_write) file->program.has_nonblocking_writes = true;
    if (is_collective && !file->library_side.handles.is_view_held_back())
        return pass_together(*file, access.pointer(), call);
    const bool is_to_block =
        !fits_one_transfer(access.count, access.type) || (!access.is_write && may_never_end(*file, access));
    return is_to_block ? pass_access_alone(*file, access.pointer(), access.is_write, Ends::later,
                                           completed(request, blocking))
                       : pass_access_alone(*file, access.pointer(), access.is_write, Ends::later, alone);
}

/// A data access with the shared file pointer by this rank alone. The library must have the view
/// (imports.hpp), else the access is refused.
template <class Call>
int pass_shared(MPI_File handle, const Access& access, Ends ends, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused_alone(*file, access); error != MPI_SUCCESS) return error;
    file->count_passed(Passed::shared_pointer);
    settle(*file);
    if (file->library_side.handles.is_view_held_back()) return refuse_shared(*file);
    const MPI_File at = file->library_side.handles.file();
    int error = MPI_SUCCESS;
    {
        const OwnAccess own(*file, access.is_write, ends);
        error = pass(at, [&] { return call(at); });
    }
    return told(*file, at, error);
}

/// A nonblocking read with the shared file pointer. Where it will begin, and whether it meets the end of the
/// file, is not known.
template <class Call, class Blocking>
int pass_shared_read(MPI_File handle, const Access& access, MPI_Request* request, const Call& call,
                     const Blocking& blocking) {
    return reads_may_never_end() ? pass_shared(handle, access, Ends::at_once, completed(request, blocking))
                                 : pass_shared(handle, access, Ends::later, call);
}

/// A blocking collective access: through the engine, or by the library.
template <class Call>
int collective(MPI_File handle, const Access& access, MPI_Status* status, const Call& call) {
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    file->wait_for_queue();
    if (!takes(*file)) {
        settle(*file);
        return pass_together(*file, access.pointer(), call);
    }
    const Outcome outcome = perform(*file, access);
    if (outcome.is_passed) return pass_together(*file, access.pointer(), call);
    if (outcome.error == MPI_SUCCESS) set_status(status, outcome.bytes);
    return outcome.error;
}

/// The first half of a split collective, which queues it. Without a queue it does all the work, as MPI lets
/// either half do.
template <class Call>
int split_begin(MPI_File handle, const Access& access, const Call& call) {
    using Split = ProgramSide::Split;
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    if (const int error = refused(*file, access); error != MPI_SUCCESS) return error;
    if (file->program.split != Split::none) return refuse_split(*file);
    if (file->is_queued()) {
        file->program.split_operation = start(*file, access);
        file->program.split = Split::queued;
        return MPI_SUCCESS;
    }
    Outcome outcome{.is_passed = !takes(*file)};
    if (!outcome.is_passed) outcome = perform(*file, access);
    if (outcome.is_passed) settle(*file);
    if (outcome.is_passed) outcome.error = pass_together(*file, access.pointer(), call);
    if (outcome.error == MPI_SUCCESS) {
        file->program.split = outcome.is_passed ? Split::passed : Split::taken;
        file->program.split_bytes = outcome.bytes;
    }
    return outcome.error;
}

/// The second half: by whoever began it. Without a first one, also where that failed, the library might wait
/// or crash.
template <class Call>
int split_end(MPI_File handle, const char* call_name, MPI_Status* status, const Call& call) {
    using Split = ProgramSide::Split;
    OpenFile* const file = entered(handle);
    if (file == nullptr) return pass(handle, [&] { return call(handle); });
    const Split begun = std::exchange(file->program.split, Split::none);
    if (begun == Split::none) return refuse_split(*file);
    if (begun == Split::queued) return end_split(*file, call_name, status);
    if (begun == Split::passed) {
        const MPI_File at = file->library_side.handles.file();
        return told(*file, at, pass(at, [&] { return call(at); }));
    }
    set_status(status, file->program.split_bytes);
    return MPI_SUCCESS;
}

}  // namespace hakobi::mpiio
