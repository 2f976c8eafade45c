#include "mpiio/entries.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>

#include "mpiio/entry.hpp"
#include "mpiio/errors.hpp"
#include "mpiio/hidden.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/info.hpp"
#include "mpiio/opening.hpp"
#include "mpiio/report.hpp"
#include "mpiio/set_view.hpp"
#include "storage/file.hpp"

namespace hakobi::mpiio {
namespace {

/// The file where the program's handle is a placeholder, of which the library could not answer for the file;
/// else null.
OpenFile* entered_late(MPI_File handle) {
    OpenFile* const file = entered(handle);
    return file != nullptr && file->library_side.is_placeholder ? file : nullptr;
}

/// A call that all ranks make on `file`: known to the drop-in, or straight on.
template <class Call>
int pass_of_all(OpenFile* known, MPI_File file, const Call& call) {
    if (known != nullptr) known->wait_for_queue();
    return known != nullptr ? pass_together(*known, Pointer::unused, call)
                            : pass(file, [&] { return call(file); });
}

/// The same, of one rank.
template <class Call>
int pass_of_one(OpenFile* known, MPI_File file, const Call& call) {
    return known != nullptr ? pass_alone(*known, Pointer::unused, call)
                            : pass(file, [&] { return call(file); });
}

/// Before a call that changes the file as a whole: no rank is before its accesses so far, on return.
/// Collective.
void meet_behind_accesses(OpenFile& file) {
    (void)agreed_error(file, MPI_SUCCESS);
}

/// Changes the file as a whole by rank 0, behind all ranks' accesses so far. Collective. Returns an MPI error
/// code, equal on all ranks; the handler has been called.
int change_by_rank_0(OpenFile& file, MPI_Offset size, Status (storage::File::*change)(std::int64_t)) {
    meet_behind_accesses(file);
    int error = !file.facts.can_write() ? MPI_ERR_READ_ONLY : size < 0 ? MPI_ERR_ARG : MPI_SUCCESS;
    if (error == MPI_SUCCESS && file.facts.rank == 0) {
        storage::OpenMode mode;
        mode.read = false;
        mode.write = true;
        mode.name = file.facts.name;
        const auto opened = storage::open_file(file.facts.opened_path(), mode);
        error = error_class_of(opened.ok() ? (*opened.value().*change)(size) : opened.status());
    }
    if (error != MPI_SUCCESS) PMPI_File_call_errhandler(file.facts.handle, error);
    return agreed_error(file, error);
}

/// Sets the size, where the library does not have the file open. As change_by_rank_0.
int set_size_late(OpenFile& file, MPI_Offset size) {
    file.wait_for_queue();
    // Bytes under way may pass a file that grows behind them.
    if (size < hidden_end_bytes(file)) settle(file);
    return change_by_rank_0(file, size, &storage::File::set_size);
}

/// Reserves space; the libraries read what is there and write it back, OMPIO to other places. As
/// change_by_rank_0.
int preallocate(OpenFile& file, MPI_Offset size) {
    file.wait_for_queue();
    settle(file);  // where the file system reserves nothing, zeros are written behind the end
    return change_by_rank_0(file, size, &storage::File::preallocate);
}

Access reading(const char* call, void* buffer, std::int64_t count, MPI_Datatype type,
               std::optional<MPI_Offset> offset = {}) {
    return {.call = call, .offset = offset, .buffer = buffer, .count = count, .type = type};
}

Access writing(const char* call, const void* buffer, std::int64_t count, MPI_Datatype type,
               std::optional<MPI_Offset> offset = {}) {
    return {.call = call,
            .is_write = true,
            .offset = offset,
            .buffer = const_cast<void*>(buffer),
            .count = count,
            .type = type};
}

}  // namespace
}  // namespace hakobi::mpiio

extern "C" {

// --- Files -------------------------------------------------------------------------------------------------

HAKOBI_EXPORT int hakobi_File_open(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    using namespace hakobi::mpiio;
    if (Inside::is_nested()) return library.File_open(comm, name, mode, info, file);
    return open_file(comm, name, mode, info, file);
}

HAKOBI_EXPORT int hakobi_File_close(MPI_File* file) {
    using namespace hakobi::mpiio;
    return file != nullptr && Inside::covers(*file) ? close_file_within_call(file) : close_file(file);
}

HAKOBI_EXPORT int hakobi_File_set_view(MPI_File file, MPI_Offset displacement, MPI_Datatype etype,
                                       MPI_Datatype filetype, const char* representation, MPI_Info info) {
    using namespace hakobi::mpiio;
    if (OpenFile* const known = entered(file)) {
        return set_view(*known, displacement, etype, filetype, representation, info);
    }
    return pass(file, [&] {
        return library.File_set_view(file, displacement, etype, filetype, representation, info);
    });
}

HAKOBI_EXPORT int hakobi_File_set_atomicity(MPI_File file, int flag) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known != nullptr) settle(*known);
    const int error =
        pass_of_all(known, file, [&](MPI_File at) { return library.File_set_atomicity(at, flag); });
    if (error != MPI_SUCCESS || known == nullptr) return error;
    known->program.is_atomic = flag != 0;
    if (known->program.is_atomic) explain(*known, "left to the MPI library while it is in atomic mode");
    return error;
}

HAKOBI_EXPORT int hakobi_File_sync(MPI_File file) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known != nullptr) known->wait_for_queue();
    const MPI_File at = known != nullptr ? known->library_side.handles.file() : file;
    int error = at != MPI_FILE_NULL ? pass(at, [&] { return library.File_sync(at); }) : MPI_SUCCESS;
    if (known == nullptr) return error;
    (void)told(*known, at, error);
    if (error == MPI_SUCCESS && known->queue != nullptr) {
        error = error_class_of(known->queue->sync());
        if (error != MPI_SUCCESS) PMPI_File_call_errhandler(file, error);
    }
    if (error == MPI_SUCCESS) {
        error = known->library_side.handles.sync_own();
        if (error != MPI_SUCCESS) PMPI_File_call_errhandler(file, error);
    }
    known->program.has_nonblocking_writes = false;  // MPI: no request may be active here
    const bool is_engine_asked =
        known->engine_side.engine() != nullptr && known->engine_side.has_unsynced_writes;
    known->engine_side.has_unsynced_writes = false;
    const int everywhere = agreed_error(*known, error);
    if (is_engine_asked) {
        const hakobi::mpi::Agreed synced = known->engine_side.engine()->sync();
        if (everywhere == MPI_SUCCESS) return result_of(*known, "MPI_File_sync", synced);
    }
    return everywhere;
}

HAKOBI_EXPORT int hakobi_File_set_info(MPI_File file, MPI_Info info) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    // The library says itself that it takes no MPI_INFO_NULL.
    const MPI_File at = known != nullptr && info != MPI_INFO_NULL ? known->library_side.handles.file() : file;
    int error = at != MPI_FILE_NULL ? pass(at, [&] { return library.File_set_info(at, info); }) : MPI_SUCCESS;
    if (known != nullptr) (void)told(*known, at, error);
    if (error != MPI_SUCCESS || known == nullptr) return error;
    take_hints(*known, info);
    return known->library_side.handles.set_info(info);
}

HAKOBI_EXPORT int hakobi_File_get_info(MPI_File file, MPI_Info* info) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_info(file, info); });
    LibraryHandles& handles = known->library_side.handles;
    const int error = handles.get_info(info);
    if (error != MPI_SUCCESS) return told(*known, handles.file(), error);
    if (handles.is_view_held_back()) overlay_info(handles.view().info(), *info);
    if (known->is_taken()) {
        const hakobi::io::Engine* const engine = known->engine_side.engine();
        add_to_info(engine != nullptr ? engine->options() : local_options(*known, false), *info);
    }
    add_layout_to_info(known->facts, *info);
    return error;
}

HAKOBI_EXPORT int hakobi_File_seek(MPI_File file, MPI_Offset offset, int whence) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_seek(file, offset, whence); });
    if (whence == MPI_SEEK_END) place_from_end(*known, offset, whence);
    if (known->is_taken() && whence == MPI_SEEK_SET && offset >= 0) {
        known->library_side.pointer.set(offset);
        return MPI_SUCCESS;
    }
    return pass_alone(*known, Pointer::individual,
                      [&](MPI_File at) { return library.File_seek(at, offset, whence); });
}

HAKOBI_EXPORT int hakobi_File_get_position(MPI_File file, MPI_Offset* offset) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_position(file, offset); });
    if (known->is_taken() && offset != nullptr) {
        const std::int64_t position = known->library_side.position_etypes();
        if (position >= 0) {
            *offset = position;
            return MPI_SUCCESS;
        }
    }
    return pass_alone(*known, Pointer::individual,
                      [&](MPI_File at) { return library.File_get_position(at, offset); });
}

HAKOBI_EXPORT int hakobi_File_get_view(MPI_File file, MPI_Offset* displacement, MPI_Datatype* etype,
                                       MPI_Datatype* filetype, char* representation) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const bool is_sane =
        displacement != nullptr && etype != nullptr && filetype != nullptr && representation != nullptr;
    if (known == nullptr || !is_sane || known->library_side.handles.view().displacement() < 0) {
        return pass_of_one(known, file, [&](MPI_File at) {
            return library.File_get_view(at, displacement, etype, filetype, representation);
        });
    }
    // The library may have another view that means the same (ViewArguments::set_on).
    std::strcpy(representation, known->program.representation.c_str());
    return known->library_side.handles.view().copy_to(displacement, etype, filetype);
}

HAKOBI_EXPORT int hakobi_File_get_byte_offset(MPI_File file, MPI_Offset offset, MPI_Offset* displacement) {
    using namespace hakobi::mpiio;
    const auto call = [&](MPI_File at) { return library.File_get_byte_offset(at, offset, displacement); };
    return pass_of_one(entered(file), file, call);
}

HAKOBI_EXPORT int hakobi_File_get_atomicity(MPI_File file, int* flag) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr || flag == nullptr)
        return pass(file, [&] { return library.File_get_atomicity(file, flag); });
    *flag = known->program.is_atomic ? 1 : 0;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_get_amode(MPI_File file, int* mode) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);  // the library may have another mode (new_layout.hpp)
    if (known == nullptr || mode == nullptr)
        return pass(file, [&] { return library.File_get_amode(file, mode); });
    *mode = known->facts.mode;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_get_group(MPI_File file, MPI_Group* group) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_group(file, group); });
    return PMPI_Comm_group(known->facts.comms->comm, group);
}

HAKOBI_EXPORT int hakobi_File_get_size(MPI_File file, MPI_Offset* size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known != nullptr) known->engine_side.wait_for_left_calls();
    if (known == nullptr || !known->library_side.is_placeholder || size == nullptr) {
        // First: what is stored in between counts twice, not never.
        const std::int64_t hidden = known != nullptr ? hidden_end_bytes(*known) : 0;
        const int error = pass(file, [&] { return library.File_get_size(file, size); });
        if (known != nullptr && error == MPI_SUCCESS) *size = std::max<MPI_Offset>(*size, hidden);
        return error;
    }
    const std::int64_t bytes = size_bytes(*known);
    if (bytes < 0) return told(*known, MPI_FILE_NULL, error_class_of(hakobi::code_of_errno(errno)));
    *size = bytes;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_set_size(MPI_File file, MPI_Offset size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known != nullptr && known->library_side.handles.file() == MPI_FILE_NULL)
        return set_size_late(*known, size);
    if (known != nullptr) settle(*known);
    if (known != nullptr) meet_behind_accesses(*known);
    return pass_of_all(known, file, [&](MPI_File at) { return library.File_set_size(at, size); });
}

HAKOBI_EXPORT int hakobi_File_preallocate(MPI_File file, MPI_Offset size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    if (known != nullptr && known->engine_side.why_not.empty()) return preallocate(*known, size);
    if (known != nullptr) settle(*known);
    return pass_of_all(known, file, [&](MPI_File at) { return library.File_preallocate(at, size); });
}

HAKOBI_EXPORT int hakobi_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
    using namespace hakobi::mpiio;
    if (OpenFile* const found = entered(file); found != nullptr && whence == MPI_SEEK_END) {
        place_from_end(*found, offset, whence);
        std::array<std::int64_t, 2> of_rank_0 = {offset, whence};  // the file may grow meanwhile
        PMPI_Bcast(of_rank_0.data(), 2, MPI_INT64_T, 0, found->facts.comms->comm);
        offset = of_rank_0[0];
        whence = static_cast<int>(of_rank_0[1]);
    }
    return pass_of_all(entered_late(file), file,
                       [&](MPI_File at) { return library.File_seek_shared(at, offset, whence); });
}

HAKOBI_EXPORT int hakobi_File_get_position_shared(MPI_File file, MPI_Offset* offset) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered(file);
    const bool is_asked = known != nullptr && offset != nullptr;
    if (is_asked && known->library_side.handles.is_view_held_back()) {
        *offset = 0;  // nobody has moved it in this view
        return MPI_SUCCESS;
    }
    const MPI_File at = is_asked ? known->library_side.handles.file() : file;
    const int error = pass(at, [&] { return library.File_get_position_shared(at, offset); });
    return known == nullptr ? error : told(*known, at, error);
}

HAKOBI_EXPORT int hakobi_File_read_ordered_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return pass_of_all(entered_late(file), file,
                       [&](MPI_File at) { return library.File_read_ordered_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_ordered_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return pass_of_all(entered_late(file), file,
                       [&](MPI_File at) { return library.File_write_ordered_end(at, buffer, status); });
}

// --- Data access: each function is written once, in entries_data.inc ---------------------------------------

#define HAKOBI_ENTRY(name) HAKOBI_EXPORT int hakobi_##name
#define HAKOBI_LIBRARY(name) hakobi::mpiio::library.name
#define HAKOBI_COUNT int
#include "mpiio/entries_data.inc"
#undef HAKOBI_ENTRY
#undef HAKOBI_LIBRARY
#undef HAKOBI_COUNT

#if MPI_VERSION >= 4
#define HAKOBI_ENTRY(name) HAKOBI_EXPORT int hakobi_##name##_c
#define HAKOBI_LIBRARY(name) hakobi::mpiio::library.name##_c
#define HAKOBI_COUNT MPI_Count
#include "mpiio/entries_data.inc"
#endif

HAKOBI_EXPORT int hakobi_File_read_at_all_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, "MPI_File_read_at_all_end", status,
                     [&](MPI_File at) { return library.File_read_at_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_read_all_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, "MPI_File_read_all_end", status,
                     [&](MPI_File at) { return library.File_read_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_at_all_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, "MPI_File_write_at_all_end", status,
                     [&](MPI_File at) { return library.File_write_at_all_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_all_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    return split_end(file, "MPI_File_write_all_end", status,
                     [&](MPI_File at) { return library.File_write_all_end(at, buffer, status); });
}

}  // extern "C"
