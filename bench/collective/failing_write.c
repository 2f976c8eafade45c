/* An MPI library whose collective write fails on rank 0 alone, as a full disk does under one aggregator.
 * Preloaded. */
#include <mpi.h>

int MPI_File_write_all(MPI_File file, const void* data, int count, MPI_Datatype type, MPI_Status* status) {
    int rank = 0;
    const int error = PMPI_File_write_all(file, data, count, type, status);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank == 0 ? MPI_ERR_NO_SPACE : error;
}
