#include "mpiio/entry.hpp"

#include <cstdio>
#include <memory>
#include <utility>

#include "mpiio/hidden.hpp"

namespace hakobi::mpiio {

int start_with_request(OpenFile& file, const Access& access, MPI_Request* request) {
    const std::shared_ptr<Operation> operation = start(file, access);
    const int error = make_request(file, operation, access.call, request);
    if (error == MPI_SUCCESS) return error;
    // The other ranks' parts go on with this one's.
    OperationQueue::wait(file.facts.comms->engine, *operation);
    PMPI_File_call_errhandler(file.facts.handle, error);
    return error;
}

int end_split(OpenFile& file, const char* call, MPI_Status* status) {
    const std::shared_ptr<Operation> operation = std::exchange(file.program.split_operation, nullptr);
    OperationQueue::wait(file.facts.comms->engine, *operation);
    const std::int64_t bytes = operation->bytes;
    const int error = result_of(file, call, *operation);  // last: its handler may close the file
    if (error == MPI_SUCCESS) set_status(status, bytes);
    return error;
}

int refuse_split(const OpenFile& file) {
    return refuse(file, library.is_open_mpi ? MPI_ERR_REQUEST : MPI_ERR_IO);
}

void place_from_end(OpenFile& file, MPI_Offset& offset, int& whence) {
    file.engine_side.wait_for_left_calls();
    const std::int64_t size = file.program.is_native ? size_bytes(file) : -1;
    const std::int64_t end = size >= 0 ? file.program.view.etypes_below(size) : -1;
    MPI_Offset from_start = 0;
    if (end < 0 || __builtin_add_overflow(offset, end, &from_start)) return;
    offset = from_start;
    whence = MPI_SEEK_SET;
}

int refuse_shared(const OpenFile& file) {
    std::fprintf(
        stderr,
        "hakobi: %s: when this file was opened, nothing in the process could call a function of the shared "
        "file pointer; set HAKOBI_LATE_VIEWS=0 to allow such calls\n",
        file.facts.name.c_str());
    return refuse(file, MPI_ERR_UNSUPPORTED_OPERATION);
}

}  // namespace hakobi::mpiio
