#include "mpiio/access.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/agree.hpp"
#include "mpiio/entry.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/report.hpp"

namespace hakobi::mpiio {
namespace {

/// The file passes from now on, on all ranks.
void give_up(OpenFile& file, const Status& why) {
    file.why_not = why.text();
    explain(file, "passes to the MPI library: " + file.why_not);
}

/// Opens the engine on the file; where that fails the file passes. Collective.
bool open_engine(OpenFile& file) {
    Comm& comm = file.comms->engine;
    if (!comm) comm = Comm::duplicate(file.comms->comm);
    const io::EngineOptions options = local_options(file, file.rank == 0);
    const bool is_shown = options.profile || wants_profile() || wants_explanation();
    std::unique_ptr<io::Engine> engine;
    const mpi::Agreed agreed = io::Engine::open(
        comm, {file.opened_path(), file.can_write, is_shown ? file.real_path() : file.name, true}, options,
        engine);
    if (!agreed.status.ok()) {
        give_up(file, agreed.status);
        return false;
    }
    const std::unique_lock lock(file.engine_use);
    file.engine = std::move(engine);
    if (file.has_unfinished_writes) file.engine->leave_holes();
    return true;
}

/// Whether an access may end inside an elementary type, which MPI rules out: Open MPI does it, ROMIO (in
/// MPICH) returns MPI_ERR_IO, and programs have come to live with either.
#ifdef OPEN_MPI
constexpr bool takes_part_of_etype = true;
#else
constexpr bool takes_part_of_etype = false;
#endif

/// An access as regions, or what stands against it.
struct Request {
    Status status;             ///< wrong arguments of this rank
    bool is_described = true;  ///< false: left to the MPI library's independent call
    std::int64_t position_etypes = 0;
    std::int64_t moved_bytes = 0;  ///< by which the individual pointer has been moved
    std::int64_t bytes = 0;
    Region file, memory;
};

Request describe(OpenFile& file, const Access& access) {
    Request request;
    const auto refuse = [&request](std::string_view why) {
        request.status = Status(ErrorCode::invalid_argument, std::string(why));
    };
    if (access.type == MPI_DATATYPE_NULL) return refuse(no_datatype), request;
    if (access.count < 0) return refuse(negative_count), request;
    if (access.offset && *access.offset < 0) return refuse("the offset is negative"), request;
    const Layout type = committed_layout_of(access.type);
    if (!type.is_committed) return refuse(not_committed), request;
    if (__builtin_mul_overflow(access.count, type.size_bytes, &request.bytes)) {
        return refuse("count times datatype leaves the range of 63 bits"), request;
    }
    const std::int64_t etype_bytes = file.view.etype_bytes();
    if (!takes_part_of_etype && request.bytes % std::max<std::int64_t>(etype_bytes, 1) != 0) {
        request.status =
            Status(ErrorCode::io, "the access is not a whole number of the view's elementary types");
        return request;
    }
    std::int64_t position_bytes = 0;
    if (access.offset) {
        if (__builtin_mul_overflow(*access.offset, etype_bytes, &position_bytes)) {
            return refuse("the offset leaves the range of 63 bits"), request;
        }
        request.position_etypes = *access.offset;
    } else {
        position_bytes = file.pointer.advance(file.library_view.in_force(), request.bytes);
        if (position_bytes < 0) return refuse("the file pointer is unknown"), request;
        request.position_etypes = position_bytes / std::max<std::int64_t>(etype_bytes, 1);
        request.moved_bytes = request.bytes;
    }
    request.file = file.view.bytes(position_bytes, request.bytes);
    if (type.is_known) request.memory = type.items(access.count);
    request.is_described = type.is_known && request.memory.valid() && request.file.valid();
    if (!request.is_described) request.file = request.memory = {};
    return request;
}

/// The part of a rank that the engine cannot describe, by the MPI library alone.
Outcome perform_alone(OpenFile& file, const Access& access, const Request& request) {
    file.counts.add(Passed::pattern);
    MPI_Status status;
    const auto call = [&](MPI_File handle) {
#if MPI_VERSION >= 4
        return access.is_write ? library.File_write_at_c(handle, request.position_etypes, access.buffer,
                                                         access.count, access.type, &status)
                               : library.File_read_at_c(handle, request.position_etypes, access.buffer,
                                                        access.count, access.type, &status);
#else
        const int count = static_cast<int>(access.count);  // it came as an int
        return access.is_write ? library.File_write_at(handle, request.position_etypes, access.buffer, count,
                                                       access.type, &status)
                               : library.File_read_at(handle, request.position_etypes, access.buffer, count,
                                                      access.type, &status);
#endif
    };
    Alone alone;
    {
        std::optional<OwnWrite> own;
        if (access.is_write)
            own.emplace(file, false);
        else
            wait_for_left_calls(file);
        alone = make_alone(file, Pointer::unused, call);
    }
    Outcome outcome;
    outcome.error = alone.tell();
    MPI_Count moved = 0;
    if (outcome.error == MPI_SUCCESS) PMPI_Get_elements_x(&status, MPI_BYTE, &moved);
    outcome.bytes = moved;
    return outcome;
}

/// The access where this rank's part is one contiguous piece and may go without a meeting of the ranks; else nothing has been
/// done. What is wrong with an access is not found here.
std::optional<Outcome> perform_ahead(OpenFile& file, const Access& access) {
    const std::int64_t item_bytes = dense_bytes_of_named(access.type);
    const std::int64_t etype_bytes = file.view.etype_bytes();
    const std::int64_t most_items = io::Engine::most_bytes_ahead / std::max<std::int64_t>(item_bytes, 1);
    if (item_bytes == 0 || access.count <= 0 || access.count > most_items || !file.view.is_dense() ||
        (access.count * item_bytes) % etype_bytes != 0)
        return {};
    const std::int64_t bytes = access.count * item_bytes;
    std::int64_t at_bytes = 0;
    if (access.offset) {
        if (*access.offset < 0 || __builtin_mul_overflow(*access.offset, etype_bytes, &at_bytes)) return {};
    } else {
        at_bytes = file.pointer.advance(file.library_view.in_force(), bytes);
        if (at_bytes < 0) return {};
    }
    std::int64_t offset = 0;
    std::optional<Status> status;
    Outcome outcome;
    if (!__builtin_add_overflow(file.view.displacement_bytes(), at_bytes, &offset))
        status = file.engine->move_ahead(
            access.is_write, offset,
            {static_cast<std::byte*>(access.buffer), static_cast<std::size_t>(bytes)}, outcome.bytes);
    if (!access.offset && !(status && status->ok()))
        file.pointer.advance(file.library_view.in_force(), -bytes);
    if (!status) return {};
    file.counts.take(access.is_write);
    if (access.is_write) file.has_unsynced_writes = true;
    if (!status->ok()) {
        outcome.bytes = 0;
        outcome.error = result_of(file, access.call, {std::move(*status), file.rank, true});
    }
    return outcome;
}

}  // namespace

mpi::Agreed close_engine(OpenFile& file) {
    file.closed_counters = total_counters(file);
    std::unique_ptr<io::Engine> engine;
    {
        const std::unique_lock lock(file.engine_use);
        engine = std::move(file.engine);
    }
    return engine->close();
}

bool takes(OpenFile& file) {
    if (!file.why_not.empty()) {
        file.counts.add(Passed::file);
        return false;
    }
    if (!file.is_taken()) {
        file.counts.add(file.has_nonblocking_writes ? Passed::nonblocking : Passed::mode);
        return false;
    }
    if (file.engine == nullptr && !open_engine(file)) {
        file.counts.add(Passed::file);
        return false;
    }
    return true;
}

Outcome perform(OpenFile& file, const Access& access) {
    if (std::optional<Outcome> done = perform_ahead(file, access)) return *done;
    Request request;
    try {
        request = describe(file, access);
    } catch (const std::bad_alloc&) {
        request = {};
        request.status = Status(ErrorCode::out_of_memory, "no memory to describe the access");
    }
    file.counts.take(access.is_write);
    auto* const memory = static_cast<std::byte*>(access.buffer);
    Outcome outcome;
    mpi::Agreed agreed;
    if (!access.is_write) {
        agreed = file.engine->read_all(request.file, memory, request.memory, outcome.bytes, request.status);
    } else {
        agreed = file.engine->write_all(request.file, memory, request.memory, request.status);
        outcome.bytes = request.bytes;
        file.has_unsynced_writes = true;
    }
    if (!agreed.status.ok()) {
        if (request.moved_bytes != 0)
            file.pointer.advance(file.library_view.in_force(), -request.moved_bytes);
        outcome.bytes = 0;
        outcome.is_passed = !agreed.is_own && !file.engine->is_usable();
        if (!agreed.is_own) (void)close_engine(file);
        if (outcome.is_passed) {
            file.counts.untake(access.is_write);
            give_up(file, agreed.status);
        } else {
            outcome.error = result_of(file, access.call, agreed);  // last: its handler may close the file
        }
        return outcome;
    }
    return request.is_described ? outcome : perform_alone(file, access, request);
}

void set_status(MPI_Status* status, std::int64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    PMPI_Status_set_cancelled(status, 0);
    PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
}

namespace {

/// Of an access; INT64_MAX where that does not say it, 0 where there is no type.
std::int64_t bytes_of(std::int64_t count, MPI_Datatype type) {
    MPI_Count type_bytes = 0;
    std::int64_t bytes = 0;
    if (type == MPI_DATATYPE_NULL || PMPI_Type_size_x(type, &type_bytes) != MPI_SUCCESS) return 0;
    return __builtin_mul_overflow(count, type_bytes, &bytes) ? INT64_MAX : bytes;
}

}  // namespace

bool fits_one_transfer(std::int64_t count, MPI_Datatype type) {
    constexpr std::int64_t most_bytes = 0x7ffff000;  // read(2), write(2)
    return bytes_of(count, type) <= most_bytes;
}

bool may_never_end(OpenFile& file, const Access& access) {
    if (!reads_may_never_end) return false;
    const std::int64_t bytes = bytes_of(access.count, access.type);
    std::int64_t position = 0;
    if (bytes <= 0) return false;
    wait_for_left_calls(file);
    if (__builtin_mul_overflow(
            access.offset ? *access.offset : file.pointer.position_etypes(file.library_view.in_force()),
            file.view.etype_bytes(), &position))
        return false;
    const Region asked = file.view.bytes(position, bytes);
    const std::int64_t size_bytes = file.size_bytes();
    return asked.valid() && size_bytes >= 0 && asked.end_bytes() > size_bytes;
}

int completed_request(const MPI_Status& status, MPI_Request* request) {
    MPI_Count bytes = 0;
    PMPI_Get_elements_x(&status, MPI_BYTE, &bytes);
    auto* const moved = new std::int64_t(bytes);
    const auto query = [](void* state, MPI_Status* of_request) {
        set_status(of_request, *static_cast<std::int64_t*>(state));
        of_request->MPI_SOURCE = MPI_UNDEFINED;
        of_request->MPI_TAG = MPI_UNDEFINED;
        return MPI_SUCCESS;
    };
    const auto release = [](void* state) {
        delete static_cast<std::int64_t*>(state);
        return MPI_SUCCESS;
    };
    const auto cancel = [](void*, int) { return MPI_SUCCESS; };
    const int error = PMPI_Grequest_start(query, release, cancel, moved, request);
    if (error == MPI_SUCCESS) return PMPI_Grequest_complete(*request);
    delete moved;
    return error;
}

}  // namespace hakobi::mpiio
