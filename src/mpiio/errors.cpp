#include "mpiio/errors.hpp"

#include "mpiio/report.hpp"

namespace hakobi::mpiio {

int error_class_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::ok:
            return MPI_SUCCESS;
        case ErrorCode::interrupted:
            return MPI_ERR_OTHER;
        case ErrorCode::invalid_argument:
            return MPI_ERR_ARG;
        case ErrorCode::not_found:
            return MPI_ERR_NO_SUCH_FILE;
        case ErrorCode::exists:
            return MPI_ERR_FILE_EXISTS;
        case ErrorCode::permission:
            return MPI_ERR_ACCESS;
        case ErrorCode::unsupported:
            return MPI_ERR_UNSUPPORTED_OPERATION;
        case ErrorCode::format:
            return MPI_ERR_CONVERSION;
        case ErrorCode::out_of_memory:
            return MPI_ERR_NO_MEM;
        case ErrorCode::no_space:
            return MPI_ERR_NO_SPACE;
        case ErrorCode::io:
        case ErrorCode::failed:
            return MPI_ERR_IO;
        case ErrorCode::internal:
            return MPI_ERR_INTERN;
    }
    return MPI_ERR_INTERN;
}

int error_class_of(const Status& status) {
    if (status.text() == no_datatype || status.text() == not_committed) return MPI_ERR_TYPE;
    if (status.text() == negative_count) return MPI_ERR_COUNT;
    return error_class_of(status.code());
}

int result_of(const OpenFile& file, const char* call, const mpi::Agreed& agreed) {
    if (agreed.status.ok()) return MPI_SUCCESS;
    explain(file, std::string(call) + " fails on rank " + std::to_string(agreed.rank) + ": " +
                      agreed.status.text());
    const int error = error_class_of(agreed.status);
    PMPI_File_call_errhandler(file.facts.handle, error);
    return error;
}

int agreed_error(const OpenFile& file, int error) {
    int mine = MPI_SUCCESS, worst = MPI_SUCCESS;
    if (error != MPI_SUCCESS) PMPI_Error_class(error, &mine);
    if (PMPI_Allreduce(&mine, &worst, 1, MPI_INT, MPI_MAX, file.facts.comms->comm) != MPI_SUCCESS)
        return error;
    if (error != MPI_SUCCESS || worst == MPI_SUCCESS) return error;
    PMPI_File_call_errhandler(file.facts.handle, worst);
    return worst;
}

}  // namespace hakobi::mpiio
