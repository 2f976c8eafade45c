// A library that stands between a program and functions of MPI-IO, as tools and Fortran layers do.
#include <mpi.h>

int MPI_File_read_shared(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
    return PMPI_File_read_shared(file, buffer, count, type, status);
}

int MPI_File_iread_all(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Request* request) {
    return PMPI_File_iread_all(file, buffer, count, type, request);
}
