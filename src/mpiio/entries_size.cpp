// The functions that say what a file is or change its size, as the front (front.c) looks them up. A file that the MPI
// library has not opened answers here; where the program's handle is the library's own, the library does.
#include <unistd.h>

#include <array>
#include <cstdint>

#include "mpiio/entry.hpp"
#include "mpiio/errors.hpp"

namespace hakobi::mpiio {
namespace {

/// The file where the library has not opened it on this rank's handle of the program; else null.
OpenFile* entered_late(MPI_File handle) {
    OpenFile* const file = entered(handle);
    return file != nullptr && file->is_late ? file : nullptr;
}

/// Sets the size by rank 0. Collective. Returns an MPI error code, equal on all ranks; the handler has been called.
int set_size_late(OpenFile& file, MPI_Offset size) {
    (void)agreed_error(file, MPI_SUCCESS);  // no rank is before its accesses so far
    int error = file.can_write && size >= 0 ? MPI_SUCCESS : file.can_write ? MPI_ERR_ARG : MPI_ERR_READ_ONLY;
    if (error == MPI_SUCCESS && file.rank == 0 && ::truncate(file.opened_path().c_str(), size) != 0)
        error = error_class_of(code_of_errno(errno));
    if (error != MPI_SUCCESS) PMPI_File_call_errhandler(file.handle, error);
    return agreed_error(file, error);
}

}  // namespace
}  // namespace hakobi::mpiio

extern "C" {

HAKOBI_EXPORT int hakobi_File_get_atomicity(MPI_File file, int* flag) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_atomicity(file, flag); });
    *flag = known->is_atomic ? 1 : 0;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_get_amode(MPI_File file, int* mode) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_amode(file, mode); });
    *mode = known->mode;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_get_group(MPI_File file, MPI_Group* group) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_group(file, group); });
    return PMPI_Comm_group(known->comms->comm, group);
}

HAKOBI_EXPORT int hakobi_File_get_size(MPI_File file, MPI_Offset* size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_get_size(file, size); });
    wait_for_left_calls(*known);
    const std::int64_t bytes = known->size_bytes();
    if (bytes < 0) return told(*known, MPI_FILE_NULL, error_class_of(hakobi::code_of_errno(errno)));
    *size = bytes;
    return MPI_SUCCESS;
}

HAKOBI_EXPORT int hakobi_File_set_size(MPI_File file, MPI_Offset size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_set_size(file, size); });
    if (known->library_view.file() == MPI_FILE_NULL) return set_size_late(*known, size);
    return pass_together(*known, Pointer::unused,
                         [&](MPI_File at) { return library.File_set_size(at, size); });
}

HAKOBI_EXPORT int hakobi_File_preallocate(MPI_File file, MPI_Offset size) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_preallocate(file, size); });
    return pass_together(*known, Pointer::unused,
                         [&](MPI_File at) { return library.File_preallocate(at, size); });
}

HAKOBI_EXPORT int hakobi_File_seek_shared(MPI_File file, MPI_Offset offset, int whence) {
    using namespace hakobi::mpiio;
    if (OpenFile* const found = entered(file); found != nullptr && whence == MPI_SEEK_END) {
        place_from_end(*found, offset, whence);
        std::array<std::int64_t, 2> of_rank_0 = {offset, whence};  // the file may grow meanwhile
        PMPI_Bcast(of_rank_0.data(), 2, MPI_INT64_T, 0, found->comms->comm);
        offset = of_rank_0[0];
        whence = static_cast<int>(of_rank_0[1]);
    }
    OpenFile* const known = entered_late(file);
    if (known == nullptr) return pass(file, [&] { return library.File_seek_shared(file, offset, whence); });
    return pass_together(*known, Pointer::unused,
                         [&](MPI_File at) { return library.File_seek_shared(at, offset, whence); });
}

HAKOBI_EXPORT int hakobi_File_get_position_shared(MPI_File file, MPI_Offset* offset) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    const MPI_File at = known == nullptr ? file : known->library_view.file();
    if (at == MPI_FILE_NULL) {
        *offset = 0;  // nobody has moved it
        return MPI_SUCCESS;
    }
    const int error = pass(at, [&] { return library.File_get_position_shared(at, offset); });
    return known == nullptr ? error : told(*known, at, error);
}

HAKOBI_EXPORT int hakobi_File_read_ordered_end(MPI_File file, void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr)
        return pass(file, [&] { return library.File_read_ordered_end(file, buffer, status); });
    return pass_together(*known, Pointer::unused,
                         [&](MPI_File at) { return library.File_read_ordered_end(at, buffer, status); });
}

HAKOBI_EXPORT int hakobi_File_write_ordered_end(MPI_File file, const void* buffer, MPI_Status* status) {
    using namespace hakobi::mpiio;
    OpenFile* const known = entered_late(file);
    if (known == nullptr)
        return pass(file, [&] { return library.File_write_ordered_end(file, buffer, status); });
    return pass_together(*known, Pointer::unused,
                         [&](MPI_File at) { return library.File_write_ordered_end(at, buffer, status); });
}

}  // extern "C"
