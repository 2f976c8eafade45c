// Calls that communicate and are not replayed: variable-size, neighbour and nonblocking collectives, probes, one-sided
// communication. Only their time is kept, as `other`.
#include "timed.hpp"

using hakobi::recorder::other;

extern "C" {

#define HAKOBI_OTHER(name, parameters, arguments)            \
    HAKOBI_EXPORT int MPI_##name parameters {                \
        return other([&] { return PMPI_##name arguments; }); \
    }

// Blocking.
HAKOBI_OTHER(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), (from, tag, comm, status))
HAKOBI_OTHER(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
             (from, tag, comm, flag, status))
HAKOBI_OTHER(Allgatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_count, send_type, receive, counts, offsets, receive_type, comm))
HAKOBI_OTHER(Gatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, int root, MPI_Comm comm),
             (send, send_count, send_type, receive, counts, offsets, receive_type, root, comm))
HAKOBI_OTHER(Scatterv,
             (const void* send, const int counts[], const int offsets[], MPI_Datatype send_type,
              void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),
             (send, counts, offsets, send_type, receive, receive_count, receive_type, root, comm))
HAKOBI_OTHER(Alltoallv,
             (const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
              void* receive, const int receive_counts[], const int receive_offsets[],
              MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,
              receive_type, comm))
HAKOBI_OTHER(Alltoallw,
             (const void* send, const int send_counts[], const int send_offsets[],
              const MPI_Datatype send_types[], void* receive, const int receive_counts[],
              const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),
             (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,
              receive_types, comm))
HAKOBI_OTHER(Reduce_scatter,
             (const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
              MPI_Comm comm),
             (send, receive, counts, type, op, comm))
HAKOBI_OTHER(Reduce_scatter_block,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
             (send, receive, count, type, op, comm))
HAKOBI_OTHER(Scan, (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
             (send, receive, count, type, op, comm))
HAKOBI_OTHER(Exscan,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),
             (send, receive, count, type, op, comm))
HAKOBI_OTHER(Neighbor_allgather,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_count, send_type, receive, receive_count, receive_type, comm))
HAKOBI_OTHER(Neighbor_allgatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_count, send_type, receive, counts, offsets, receive_type, comm))
HAKOBI_OTHER(Neighbor_alltoall,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_count, send_type, receive, receive_count, receive_type, comm))
HAKOBI_OTHER(Neighbor_alltoallv,
             (const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
              void* receive, const int receive_counts[], const int receive_offsets[],
              MPI_Datatype receive_type, MPI_Comm comm),
             (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,
              receive_type, comm))
HAKOBI_OTHER(Neighbor_alltoallw,
             (const void* send, const int send_counts[], const MPI_Aint send_offsets[],
              const MPI_Datatype send_types[], void* receive, const int receive_counts[],
              const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),
             (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,
              receive_types, comm))

// Nonblocking collectives: their waits are `other`, too, as their requests have no event.
HAKOBI_OTHER(Iallgatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, counts, offsets, receive_type, comm, request))
HAKOBI_OTHER(Igatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, counts, offsets, receive_type, root, comm, request))
HAKOBI_OTHER(Iscatterv,
             (const void* send, const int counts[], const int offsets[], MPI_Datatype send_type,
              void* receive, int receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm,
              MPI_Request* request),
             (send, counts, offsets, send_type, receive, receive_count, receive_type, root, comm, request))
HAKOBI_OTHER(Ialltoallv,
             (const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
              void* receive, const int receive_counts[], const int receive_offsets[],
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,
              receive_type, comm, request))
HAKOBI_OTHER(Ialltoallw,
             (const void* send, const int send_counts[], const int send_offsets[],
              const MPI_Datatype send_types[], void* receive, const int receive_counts[],
              const int receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm,
              MPI_Request* request),
             (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,
              receive_types, comm, request))
HAKOBI_OTHER(Ireduce_scatter,
             (const void* send, void* receive, const int counts[], MPI_Datatype type, MPI_Op op,
              MPI_Comm comm, MPI_Request* request),
             (send, receive, counts, type, op, comm, request))
HAKOBI_OTHER(Ireduce_scatter_block,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request),
             (send, receive, count, type, op, comm, request))
HAKOBI_OTHER(Iscan,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request),
             (send, receive, count, type, op, comm, request))
HAKOBI_OTHER(Iexscan,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request),
             (send, receive, count, type, op, comm, request))
HAKOBI_OTHER(Ineighbor_allgather,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, comm, request))
HAKOBI_OTHER(Ineighbor_allgatherv,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int counts[],
              const int offsets[], MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, counts, offsets, receive_type, comm, request))
HAKOBI_OTHER(Ineighbor_alltoall,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, comm, request))
HAKOBI_OTHER(Ineighbor_alltoallv,
             (const void* send, const int send_counts[], const int send_offsets[], MPI_Datatype send_type,
              void* receive, const int receive_counts[], const int receive_offsets[],
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,
              receive_type, comm, request))
HAKOBI_OTHER(Ineighbor_alltoallw,
             (const void* send, const int send_counts[], const MPI_Aint send_offsets[],
              const MPI_Datatype send_types[], void* receive, const int receive_counts[],
              const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm,
              MPI_Request* request),
             (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,
              receive_types, comm, request))
HAKOBI_OTHER(Ibarrier, (MPI_Comm comm, MPI_Request* request), (comm, request))
HAKOBI_OTHER(Ibcast,
             (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request),
             (buffer, count, type, root, comm, request))
HAKOBI_OTHER(Ireduce,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, int root,
              MPI_Comm comm, MPI_Request* request),
             (send, receive, count, type, op, root, comm, request))
HAKOBI_OTHER(Iallreduce,
             (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
              MPI_Request* request),
             (send, receive, count, type, op, comm, request))
HAKOBI_OTHER(Igather,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, root, comm, request))
HAKOBI_OTHER(Iallgather,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, comm, request))
HAKOBI_OTHER(Iscatter,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, int root, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, root, comm, request))
HAKOBI_OTHER(Ialltoall,
             (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count,
              MPI_Datatype receive_type, MPI_Comm comm, MPI_Request* request),
             (send, send_count, send_type, receive, receive_count, receive_type, comm, request))

// One-sided.
HAKOBI_OTHER(Put,
             (const void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset,
              int target_count, MPI_Datatype target_type, MPI_Win window),
             (origin, origin_count, origin_type, target, offset, target_count, target_type, window))
HAKOBI_OTHER(Get,
             (void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset,
              int target_count, MPI_Datatype target_type, MPI_Win window),
             (origin, origin_count, origin_type, target, offset, target_count, target_type, window))
HAKOBI_OTHER(Accumulate,
             (const void* origin, int origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset,
              int target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window),
             (origin, origin_count, origin_type, target, offset, target_count, target_type, op, window))
HAKOBI_OTHER(Get_accumulate,
             (const void* origin, int origin_count, MPI_Datatype origin_type, void* result, int result_count,
              MPI_Datatype result_type, int target, MPI_Aint offset, int target_count,
              MPI_Datatype target_type, MPI_Op op, MPI_Win window),
             (origin, origin_count, origin_type, result, result_count, result_type, target, offset,
              target_count, target_type, op, window))
HAKOBI_OTHER(Fetch_and_op,
             (const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint offset, MPI_Op op,
              MPI_Win window),
             (origin, result, type, target, offset, op, window))
HAKOBI_OTHER(Win_fence, (int assertion, MPI_Win window), (assertion, window))
HAKOBI_OTHER(Win_start, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
HAKOBI_OTHER(Win_complete, (MPI_Win window), (window))
HAKOBI_OTHER(Win_wait, (MPI_Win window), (window))
HAKOBI_OTHER(Win_lock, (int kind, int rank, int assertion, MPI_Win window), (kind, rank, assertion, window))
HAKOBI_OTHER(Win_unlock, (int rank, MPI_Win window), (rank, window))
HAKOBI_OTHER(Win_unlock_all, (MPI_Win window), (window))
HAKOBI_OTHER(Win_flush, (int rank, MPI_Win window), (rank, window))
HAKOBI_OTHER(Win_flush_all, (MPI_Win window), (window))

}  // extern "C"
