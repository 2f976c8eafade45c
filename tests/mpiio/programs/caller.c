// A library that calls at the shared file pointer and begins nonblocking collectives, as a program would.
#include <mpi.h>

int hakobi_test_call(MPI_File file) {
    int value = 0;
    return MPI_File_read_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

int hakobi_test_begin(MPI_File file, MPI_Request* request) {
    static int value;
    return MPI_File_iread_all(file, &value, 1, MPI_INT, request);
}
