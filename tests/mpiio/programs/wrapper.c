// A library that stands between a program and a function of the shared file pointer, as tools and Fortran layers do.
#include <mpi.h>

int MPI_File_read_shared(MPI_File file, void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
    return PMPI_File_read_shared(file, buffer, count, type, status);
}
