#include "mpiio/access.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "mpi/agree.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/library.hpp"
#include "mpiio/report.hpp"

namespace hakobi::mpiio {
namespace {

/// The library has the file from now on, on all ranks.
void give_up(OpenFile& file, const Status& why) {
    file.engine_side.why_not = why.text();
    explain_why_not(file);
}

/// Makes the file's engine; where that fails the library has the file. Collective.
bool open_engine(OpenFile& file) {
    const io::EngineOptions options = local_options(file, file.facts.rank == 0);
    const bool is_path_shown = options.profile || wants_profile() || wants_explanation();
    const mpi::Agreed agreed = file.engine_side.open(file.facts, options, is_path_shown);
    if (!agreed.status.ok()) give_up(file, agreed.status);
    return agreed.status.ok();
}

/// Whether an access may end inside an elementary type, which MPI rules out: Open MPI does it, ROMIO (in
/// MPICH) returns MPI_ERR_IO, and programs have come to live with either.
bool takes_part_of_etype() {
    return library.is_open_mpi;
}

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
        return refuse("the count times the size of the datatype is 2^63 bytes or more"), request;
    }
    const std::int64_t etype_bytes = file.program.view.etype_bytes();
    if (!takes_part_of_etype() && request.bytes % std::max<std::int64_t>(etype_bytes, 1) != 0) {
        request.status =
            Status(ErrorCode::io, "the access is not a whole number of the view's elementary types");
        return request;
    }
    std::int64_t position_bytes = 0;
    if (access.offset) {
        if (__builtin_mul_overflow(*access.offset, etype_bytes, &position_bytes)) {
            return refuse("the offset is 2^63 bytes or more"), request;
        }
        request.position_etypes = *access.offset;
    } else {
        position_bytes = file.library_side.advance_pointer(request.bytes);
        if (position_bytes < 0)
            return refuse("the MPI library does not say where the file pointer is"), request;
        request.position_etypes = position_bytes / std::max<std::int64_t>(etype_bytes, 1);
        request.moved_bytes = request.bytes;
    }
    request.file = file.program.view.bytes(position_bytes, request.bytes);
    if (type.is_known) request.memory = type.items(access.count);
    request.is_described = type.is_known && request.memory.valid() && request.file.valid();
    if (!request.is_described) request.file = request.memory = {};
    return request;
}

Request described(OpenFile& file, const Access& access) {
    Request request;
    try {
        request = describe(file, access);
    } catch (const std::bad_alloc&) {
        request = {};
        request.status = Status(ErrorCode::out_of_memory, "no memory to describe the access");
    }
    return request;
}

/// The part of a rank that the engine cannot describe, by the MPI library alone.
Outcome perform_alone(OpenFile& file, const Access& access, const Request& request) {
    settle(file);
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
    Outcome outcome;
    outcome.error = pass_access_alone(file, Pointer::unused, access.is_write, Ends::at_once, call);
    MPI_Count moved = 0;
    if (outcome.error == MPI_SUCCESS) PMPI_Get_elements_x(&status, MPI_BYTE, &moved);
    outcome.bytes = moved;
    return outcome;
}

/// The access where this rank's part is one contiguous piece and may go without a meeting of the ranks; else
/// nothing has been done. Errors of an access are not found here.
std::optional<Outcome> perform_ahead(OpenFile& file, const Access& access) {
    const std::int64_t item_bytes = dense_bytes_of_named(access.type);
    const std::int64_t etype_bytes = file.program.view.etype_bytes();
    const std::int64_t most_items = io::Engine::most_bytes_ahead / std::max<std::int64_t>(item_bytes, 1);
    if (item_bytes == 0 || access.count <= 0 || access.count > most_items || !file.program.view.is_dense() ||
        (access.count * item_bytes) % etype_bytes != 0)
        return {};
    const std::int64_t bytes = access.count * item_bytes;
    std::int64_t at_bytes = 0;
    if (access.offset) {
        if (*access.offset < 0 || __builtin_mul_overflow(*access.offset, etype_bytes, &at_bytes)) return {};
    } else {
        at_bytes = file.library_side.advance_pointer(bytes);
        if (at_bytes < 0) return {};
    }
    std::int64_t offset = 0;
    std::optional<Status> status;
    Outcome outcome;
    if (!__builtin_add_overflow(file.program.view.displacement_bytes(), at_bytes, &offset))
        status = file.engine_side.engine()->move_ahead(
            access.is_write, offset,
            {static_cast<std::byte*>(access.buffer), static_cast<std::size_t>(bytes)}, outcome.bytes);
    if (!access.offset && !(status && status->ok())) file.library_side.advance_pointer(-bytes);
    if (!status) return {};
    file.counts.take(access.is_write);
    if (access.is_write) file.engine_side.has_unsynced_writes = true;
    if (!status->ok()) {
        outcome.bytes = 0;
        outcome.error = result_of(file, access.call, {std::move(*status), file.facts.rank, true});
    }
    return outcome;
}

}  // namespace

std::optional<Region> asked_for(OpenFile& file, const Access& access) {
    MPI_Count type_bytes = 0;
    std::int64_t bytes = 0, position = 0;
    if (access.type == MPI_DATATYPE_NULL || PMPI_Type_size_x(access.type, &type_bytes) != MPI_SUCCESS ||
        __builtin_mul_overflow(access.count, type_bytes, &bytes) ||
        __builtin_mul_overflow(access.offset ? *access.offset : file.library_side.position_etypes(),
                               file.program.view.etype_bytes(), &position))
        return {};
    Region asked = file.program.view.bytes(position, bytes);
    return asked.valid() ? std::optional(std::move(asked)) : std::nullopt;
}

bool takes(OpenFile& file) {
    const bool is_engines = file.is_taken() && (file.engine_side.engine() != nullptr || open_engine(file));
    if (!is_engines)
        file.count_passed(file.program.has_nonblocking_writes ? Passed::nonblocking : Passed::mode);
    return is_engines;
}

std::shared_ptr<Operation> start(OpenFile& file, const Access& access) {
    auto operation = std::make_shared<Operation>();
    Request request = described(file, access);
    operation->is_write = access.is_write;
    operation->origin = static_cast<std::byte*>(access.buffer);
    operation->mistake = std::move(request.status);
    if (access.is_write) operation->bytes = request.bytes;
    if (!request.is_described && operation->mistake.ok()) {
        const Outcome alone = perform_alone(file, access, request);
        operation->bytes = alone.bytes;
        if (alone.error != MPI_SUCCESS)
            operation->mistake = Status(ErrorCode::io, "the MPI library's part of the access failed");
    }
    operation->file = std::move(request.file);
    operation->memory = std::move(request.memory);
    file.counts.take(access.is_write);
    settle(file);
    file.counts.queued.fetch_add(1, std::memory_order_relaxed);
    file.queue->start(operation, [&file] { return local_options(file, file.facts.rank == 0); });
    return operation;
}

Outcome perform(OpenFile& file, const Access& access) {
    settle_others(file);
    if (std::optional<Outcome> done = perform_ahead(file, access)) return *done;
    const Request request = described(file, access);
    file.counts.take(access.is_write);
    io::Engine& engine = *file.engine_side.engine();
    auto* const memory = static_cast<std::byte*>(access.buffer);
    Outcome outcome;
    mpi::Agreed agreed;
    if (!access.is_write) {
        agreed = engine.read_all(request.file, memory, request.memory, outcome.bytes, request.status);
    } else {
        agreed = engine.write_all_electively(request.file, memory, request.memory, request.status);
        outcome.bytes = request.bytes;
        file.engine_side.has_unsynced_writes = true;
    }
    if (!agreed.status.ok()) {
        if (request.moved_bytes != 0) file.library_side.advance_pointer(-request.moved_bytes);
        outcome.bytes = 0;
        outcome.is_passed = !agreed.is_own && !engine.is_usable();
        mpi::Agreed closed;
        if (!agreed.is_own) closed = file.engine_side.close();
        if (outcome.is_passed && !closed.status.ok()) {  // of hidden writes: nobody else would tell
            outcome.is_passed = false;
            agreed = std::move(closed);
        }
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

}  // namespace hakobi::mpiio
