// Collectives of one rank: it gets what it gives. Nothing is reduced, since there is nothing to reduce with.
#include "serial_mpi/serial_mpi.hpp"

using hakobi::serial_mpi::completed;
using hakobi::serial_mpi::copy;

int MPI_Barrier(MPI_Comm) {
    return MPI_SUCCESS;
}

int MPI_Bcast(void*, int, MPI_Datatype, int, MPI_Comm) {
    return MPI_SUCCESS;
}

int MPI_Gather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
               MPI_Datatype to_type, int, MPI_Comm) {
    return copy(from, from_count, from_type, to, to_count, to_type);
}

int MPI_Allgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm) {
    return copy(from, from_count, from_type, to, to_count, to_type);
}

int MPI_Allgatherv(const void* from, int from_count, MPI_Datatype from_type, void* to, const int to_counts[],
                   const int places[], MPI_Datatype to_type, MPI_Comm) {
    const auto layout = hakobi::serial_mpi::layout_of(to_type);
    if (!layout) return MPI_ERR_TYPE;
    return copy(from, from_count, from_type, static_cast<std::byte*>(to) + places[0] * layout->extent(),
                to_counts[0], to_type);
}

int MPI_Alltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                 MPI_Datatype to_type, MPI_Comm) {
    return copy(from, from_count, from_type, to, to_count, to_type);
}

int MPI_Allreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op, MPI_Comm) {
    return copy(from, count, type, to, count, type);
}

int MPI_Exscan(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm) {
    return MPI_SUCCESS;  // rank 0's result is undefined
}

int MPI_Ibarrier(MPI_Comm, MPI_Request* request) {
    *request = completed();
    return MPI_SUCCESS;
}

int MPI_Ibcast(void*, int, MPI_Datatype, int, MPI_Comm, MPI_Request* request) {
    *request = completed();
    return MPI_SUCCESS;
}

int MPI_Iallgather(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                   MPI_Datatype to_type, MPI_Comm, MPI_Request* request) {
    *request = completed();
    return copy(from, from_count, from_type, to, to_count, to_type);
}

int MPI_Ialltoall(const void* from, int from_count, MPI_Datatype from_type, void* to, int to_count,
                  MPI_Datatype to_type, MPI_Comm, MPI_Request* request) {
    *request = completed();
    return copy(from, from_count, from_type, to, to_count, to_type);
}

int MPI_Iallreduce(const void* from, void* to, int count, MPI_Datatype type, MPI_Op, MPI_Comm,
                   MPI_Request* request) {
    *request = completed();
    return copy(from, count, type, to, count, type);
}

int MPI_Op_create(MPI_User_function*, int, MPI_Op* op) {
    *op = static_cast<MPI_Op>(0x98000000U);  // never called
    return MPI_SUCCESS;
}

HAKOBI_ALSO_AS_PMPI(Barrier)
HAKOBI_ALSO_AS_PMPI(Bcast)
HAKOBI_ALSO_AS_PMPI(Gather)
HAKOBI_ALSO_AS_PMPI(Allgather)
HAKOBI_ALSO_AS_PMPI(Allgatherv)
HAKOBI_ALSO_AS_PMPI(Alltoall)
HAKOBI_ALSO_AS_PMPI(Allreduce)
HAKOBI_ALSO_AS_PMPI(Exscan)
HAKOBI_ALSO_AS_PMPI(Ibarrier)
HAKOBI_ALSO_AS_PMPI(Ibcast)
HAKOBI_ALSO_AS_PMPI(Iallgather)
HAKOBI_ALSO_AS_PMPI(Ialltoall)
HAKOBI_ALSO_AS_PMPI(Iallreduce)
HAKOBI_ALSO_AS_PMPI(Op_create)
