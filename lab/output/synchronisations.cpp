#include "synchronisations.hpp"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

namespace {

int num_calls = 0;

}  // namespace

namespace hakobi::bench {

int num_collective_calls() {
    return num_calls;
}

}  // namespace hakobi::bench

// NOLINTBEGIN(readability-identifier-naming): MPI's names.
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation,
                  MPI_Comm comm) {
    ++num_calls;
    return PMPI_Allreduce(send, receive, count, type, operation, comm);
}
int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op operation,
                   MPI_Comm comm, MPI_Request* request) {
    ++num_calls;
    return PMPI_Iallreduce(send, receive, count, type, operation, comm, request);
}
int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                  MPI_Datatype receive_type, MPI_Comm comm) {
    ++num_calls;
    return PMPI_Allgather(send, send_count, send_type, receive, receive_count, receive_type, comm);
}
int MPI_Iallgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
                   MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request) {
    ++num_calls;
    return PMPI_Iallgather(send, send_count, send_type, receive, receive_count, receive_type, comm, request);
}
int MPI_Allgatherv(const void* send, int send_count, MPI_Datatype send_type, void* receive, const int* counts,
                   const int* displacements, MPI_Datatype receive_type, MPI_Comm comm) {
    ++num_calls;
    return PMPI_Allgatherv(send, send_count, send_type, receive, counts, displacements, receive_type, comm);
}
int MPI_Bcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    ++num_calls;
    return PMPI_Bcast(buffer, count, type, root, comm);
}
int MPI_Ibcast(void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    ++num_calls;
    return PMPI_Ibcast(buffer, count, type, root, comm, request);
}
int MPI_Barrier(MPI_Comm comm) {
    ++num_calls;
    return PMPI_Barrier(comm);
}
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* window) {
    ++num_calls;
    return PMPI_Win_allocate_shared(size, unit, info, comm, base, window);
}
int MPI_Win_free(MPI_Win* window) {
    ++num_calls;
    return PMPI_Win_free(window);
}
int MPI_File_open(MPI_Comm comm, const char* path, int mode, MPI_Info info, MPI_File* file) {
    ++num_calls;
    return PMPI_File_open(comm, path, mode, info, file);
}
int MPI_File_set_view(MPI_File file, MPI_Offset begin, MPI_Datatype element, MPI_Datatype type,
                      const char* representation, MPI_Info info) {
    ++num_calls;
    return PMPI_File_set_view(file, begin, element, type, representation, info);
}
int MPI_File_write_all(MPI_File file, const void* buffer, int count, MPI_Datatype type, MPI_Status* status) {
    ++num_calls;
    return PMPI_File_write_all(file, buffer, count, type, status);
}
int MPI_File_write_at_all(MPI_File file, MPI_Offset begin, const void* buffer, int count, MPI_Datatype type,
                          MPI_Status* status) {
    ++num_calls;
    return PMPI_File_write_at_all(file, begin, buffer, count, type, status);
}
int MPI_File_close(MPI_File* file) {
    ++num_calls;
    return PMPI_File_close(file);
}
// NOLINTEND(readability-identifier-naming)
