#include "mpiio/library_call.hpp"

namespace hakobi::mpiio {

int settle_view(OpenFile& file) {
    LibrarySide& side = file.library_side;
    if (!side.handles.is_view_held_back()) return MPI_SUCCESS;
    side.leave_pointer();
    const int error = side.handles.set_held_back_view();
    if (error != MPI_SUCCESS && side.is_placeholder) PMPI_File_call_errhandler(file.facts.handle, error);
    return error;
}

void set_status(MPI_Status* status, std::int64_t bytes) {
    if (status == MPI_STATUS_IGNORE) return;
    PMPI_Status_set_cancelled(status, 0);
    PMPI_Status_set_elements_x(status, MPI_BYTE, bytes);
}

}  // namespace hakobi::mpiio
