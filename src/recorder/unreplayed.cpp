// Calls that communicate and are not replayed: variable-size, neighbour, nonblocking and persistent
// collectives, probes, combined nonblocking and partitioned messages, one-sided communication. Their time is
// kept, as `other`, and how often each was called.
#include "timed.hpp"

using hakobi::recorder::other;

extern "C" {

#define HAKOBI_BARE(...) __VA_ARGS__
#define HAKOBI_OTHER(name, parameters, arguments)                          \
    HAKOBI_EXPORT int MPI_##name parameters {                              \
        return other("MPI_" #name, [&] { return PMPI_##name arguments; }); \
    }
/// As HAKOBI_OTHER with a request behind, and behind an info.
#define HAKOBI_REQUEST(name, parameters, arguments) \
    HAKOBI_OTHER(name, (HAKOBI_BARE parameters, MPI_Request * request), (HAKOBI_BARE arguments, request))
#define HAKOBI_PERSISTENT(name, parameters, arguments)                                 \
    HAKOBI_OTHER(name, (HAKOBI_BARE parameters, MPI_Info info, MPI_Request * request), \
                 (HAKOBI_BARE arguments, info, request))

HAKOBI_OTHER(Probe, (int from, int tag, MPI_Comm comm, MPI_Status* status), (from, tag, comm, status))
HAKOBI_OTHER(Iprobe, (int from, int tag, MPI_Comm comm, int* flag, MPI_Status* status),
             (from, tag, comm, flag, status))

// Nonblocking ones' waits are `other`, too, as their requests have no event. With the large counts where the
// library has them.
#define HAKOBI_COLLECTIVES(suffix, Count, Offset)                                                            \
    HAKOBI_OTHER(Allgatherv##suffix,                                                                         \
                 (const void* send, Count send_count, MPI_Datatype send_type, void* receive,                 \
                  const Count counts[], const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm),   \
                 (send, send_count, send_type, receive, counts, offsets, receive_type, comm))                \
    HAKOBI_OTHER(                                                                                            \
        Gatherv##suffix,                                                                                     \
        (const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],    \
         const Offset offsets[], MPI_Datatype receive_type, int root, MPI_Comm comm),                        \
        (send, send_count, send_type, receive, counts, offsets, receive_type, root, comm))                   \
    HAKOBI_OTHER(Scatterv##suffix,                                                                           \
                 (const void* send, const Count counts[], const Offset offsets[], MPI_Datatype send_type,    \
                  void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),   \
                 (send, counts, offsets, send_type, receive, receive_count, receive_type, root, comm))       \
    HAKOBI_OTHER(Alltoallv##suffix,                                                                          \
                 (const void* send, const Count send_counts[], const Offset send_offsets[],                  \
                  MPI_Datatype send_type, void* receive, const Count receive_counts[],                       \
                  const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),                 \
                 (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,      \
                  receive_type, comm))                                                                       \
    HAKOBI_OTHER(Alltoallw##suffix,                                                                          \
                 (const void* send, const Count send_counts[], const Offset send_offsets[],                  \
                  const MPI_Datatype send_types[], void* receive, const Count receive_counts[],              \
                  const Offset receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),        \
                 (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,     \
                  receive_types, comm))                                                                      \
    HAKOBI_OTHER(Reduce_scatter##suffix,                                                                     \
                 (const void* send, void* receive, const Count counts[], MPI_Datatype type, MPI_Op op,       \
                  MPI_Comm comm),                                                                            \
                 (send, receive, counts, type, op, comm))                                                    \
    HAKOBI_OTHER(                                                                                            \
        Reduce_scatter_block##suffix,                                                                        \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_OTHER(                                                                                            \
        Scan##suffix,                                                                                        \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_OTHER(                                                                                            \
        Exscan##suffix,                                                                                      \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_OTHER(Neighbor_allgather##suffix,                                                                 \
                 (const void* send, Count send_count, MPI_Datatype send_type, void* receive,                 \
                  Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                            \
                 (send, send_count, send_type, receive, receive_count, receive_type, comm))                  \
    HAKOBI_OTHER(Neighbor_allgatherv##suffix,                                                                \
                 (const void* send, Count send_count, MPI_Datatype send_type, void* receive,                 \
                  const Count counts[], const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm),   \
                 (send, send_count, send_type, receive, counts, offsets, receive_type, comm))                \
    HAKOBI_OTHER(Neighbor_alltoall##suffix,                                                                  \
                 (const void* send, Count send_count, MPI_Datatype send_type, void* receive,                 \
                  Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                            \
                 (send, send_count, send_type, receive, receive_count, receive_type, comm))                  \
    HAKOBI_OTHER(Neighbor_alltoallv##suffix,                                                                 \
                 (const void* send, const Count send_counts[], const Offset send_offsets[],                  \
                  MPI_Datatype send_type, void* receive, const Count receive_counts[],                       \
                  const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),                 \
                 (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,      \
                  receive_type, comm))                                                                       \
    HAKOBI_OTHER(Neighbor_alltoallw##suffix,                                                                 \
                 (const void* send, const Count send_counts[], const MPI_Aint send_offsets[],                \
                  const MPI_Datatype send_types[], void* receive, const Count receive_counts[],              \
                  const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),      \
                 (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,     \
                  receive_types, comm))                                                                      \
    HAKOBI_REQUEST(Iallgatherv##suffix,                                                                      \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    const Count counts[], const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm), \
                   (send, send_count, send_type, receive, counts, offsets, receive_type, comm))              \
    HAKOBI_REQUEST(                                                                                          \
        Igatherv##suffix,                                                                                    \
        (const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],    \
         const Offset offsets[], MPI_Datatype receive_type, int root, MPI_Comm comm),                        \
        (send, send_count, send_type, receive, counts, offsets, receive_type, root, comm))                   \
    HAKOBI_REQUEST(Iscatterv##suffix,                                                                        \
                   (const void* send, const Count counts[], const Offset offsets[], MPI_Datatype send_type,  \
                    void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm), \
                   (send, counts, offsets, send_type, receive, receive_count, receive_type, root, comm))     \
    HAKOBI_REQUEST(Ialltoallv##suffix,                                                                       \
                   (const void* send, const Count send_counts[], const Offset send_offsets[],                \
                    MPI_Datatype send_type, void* receive, const Count receive_counts[],                     \
                    const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),               \
                   (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,    \
                    receive_type, comm))                                                                     \
    HAKOBI_REQUEST(Ialltoallw##suffix,                                                                       \
                   (const void* send, const Count send_counts[], const Offset send_offsets[],                \
                    const MPI_Datatype send_types[], void* receive, const Count receive_counts[],            \
                    const Offset receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),      \
                   (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,   \
                    receive_types, comm))                                                                    \
    HAKOBI_REQUEST(Ireduce_scatter##suffix,                                                                  \
                   (const void* send, void* receive, const Count counts[], MPI_Datatype type, MPI_Op op,     \
                    MPI_Comm comm),                                                                          \
                   (send, receive, counts, type, op, comm))                                                  \
    HAKOBI_REQUEST(                                                                                          \
        Ireduce_scatter_block##suffix,                                                                       \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_REQUEST(                                                                                          \
        Iscan##suffix,                                                                                       \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_REQUEST(                                                                                          \
        Iexscan##suffix,                                                                                     \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_REQUEST(Ineighbor_allgather##suffix,                                                              \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                          \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm))                \
    HAKOBI_REQUEST(Ineighbor_allgatherv##suffix,                                                             \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    const Count counts[], const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm), \
                   (send, send_count, send_type, receive, counts, offsets, receive_type, comm))              \
    HAKOBI_REQUEST(Ineighbor_alltoall##suffix,                                                               \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                          \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm))                \
    HAKOBI_REQUEST(Ineighbor_alltoallv##suffix,                                                              \
                   (const void* send, const Count send_counts[], const Offset send_offsets[],                \
                    MPI_Datatype send_type, void* receive, const Count receive_counts[],                     \
                    const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),               \
                   (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets,    \
                    receive_type, comm))                                                                     \
    HAKOBI_REQUEST(Ineighbor_alltoallw##suffix,                                                              \
                   (const void* send, const Count send_counts[], const MPI_Aint send_offsets[],              \
                    const MPI_Datatype send_types[], void* receive, const Count receive_counts[],            \
                    const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),    \
                   (send, send_counts, send_offsets, send_types, receive, receive_counts, receive_offsets,   \
                    receive_types, comm))                                                                    \
    HAKOBI_REQUEST(Ibcast##suffix, (void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm),  \
                   (buffer, count, type, root, comm))                                                        \
    HAKOBI_REQUEST(Ireduce##suffix,                                                                          \
                   (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root,    \
                    MPI_Comm comm),                                                                          \
                   (send, receive, count, type, op, root, comm))                                             \
    HAKOBI_REQUEST(                                                                                          \
        Iallreduce##suffix,                                                                                  \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_REQUEST(Igather##suffix,                                                                          \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),                \
                   (send, send_count, send_type, receive, receive_count, receive_type, root, comm))          \
    HAKOBI_REQUEST(Iallgather##suffix,                                                                       \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                          \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm))                \
    HAKOBI_REQUEST(Iscatter##suffix,                                                                         \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),                \
                   (send, send_count, send_type, receive, receive_count, receive_type, root, comm))          \
    HAKOBI_REQUEST(Ialltoall##suffix,                                                                        \
                   (const void* send, Count send_count, MPI_Datatype send_type, void* receive,               \
                    Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                          \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm))
HAKOBI_COLLECTIVES(, int, int)
HAKOBI_REQUEST(Ibarrier, (MPI_Comm comm), (comm))

// One-sided.
#define HAKOBI_ONE_SIDED(suffix, Count)                                                                      \
    HAKOBI_OTHER(Put##suffix,                                                                                \
                 (const void* origin, Count origin_count, MPI_Datatype origin_type, int target,              \
                  MPI_Aint offset, Count target_count, MPI_Datatype target_type, MPI_Win window),            \
                 (origin, origin_count, origin_type, target, offset, target_count, target_type, window))     \
    HAKOBI_OTHER(Get##suffix,                                                                                \
                 (void* origin, Count origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset,   \
                  Count target_count, MPI_Datatype target_type, MPI_Win window),                             \
                 (origin, origin_count, origin_type, target, offset, target_count, target_type, window))     \
    HAKOBI_OTHER(Accumulate##suffix,                                                                         \
                 (const void* origin, Count origin_count, MPI_Datatype origin_type, int target,              \
                  MPI_Aint offset, Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window), \
                 (origin, origin_count, origin_type, target, offset, target_count, target_type, op, window)) \
    HAKOBI_OTHER(Get_accumulate##suffix,                                                                     \
                 (const void* origin, Count origin_count, MPI_Datatype origin_type, void* result,            \
                  Count result_count, MPI_Datatype result_type, int target, MPI_Aint offset,                 \
                  Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window),                  \
                 (origin, origin_count, origin_type, result, result_count, result_type, target, offset,      \
                  target_count, target_type, op, window))                                                    \
    HAKOBI_REQUEST(Rput##suffix,                                                                             \
                   (const void* origin, Count origin_count, MPI_Datatype origin_type, int target,            \
                    MPI_Aint offset, Count target_count, MPI_Datatype target_type, MPI_Win window),          \
                   (origin, origin_count, origin_type, target, offset, target_count, target_type, window))   \
    HAKOBI_REQUEST(Rget##suffix,                                                                             \
                   (void* origin, Count origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset, \
                    Count target_count, MPI_Datatype target_type, MPI_Win window),                           \
                   (origin, origin_count, origin_type, target, offset, target_count, target_type, window))   \
    HAKOBI_REQUEST(                                                                                          \
        Raccumulate##suffix,                                                                                 \
        (const void* origin, Count origin_count, MPI_Datatype origin_type, int target, MPI_Aint offset,      \
         Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window),                           \
        (origin, origin_count, origin_type, target, offset, target_count, target_type, op, window))          \
    HAKOBI_REQUEST(Rget_accumulate##suffix,                                                                  \
                   (const void* origin, Count origin_count, MPI_Datatype origin_type, void* result,          \
                    Count result_count, MPI_Datatype result_type, int target, MPI_Aint offset,               \
                    Count target_count, MPI_Datatype target_type, MPI_Op op, MPI_Win window),                \
                   (origin, origin_count, origin_type, result, result_count, result_type, target, offset,    \
                    target_count, target_type, op, window))
HAKOBI_ONE_SIDED(, int)
HAKOBI_OTHER(Fetch_and_op,
             (const void* origin, void* result, MPI_Datatype type, int target, MPI_Aint offset, MPI_Op op,
              MPI_Win window),
             (origin, result, type, target, offset, op, window))
HAKOBI_OTHER(Compare_and_swap,
             (const void* origin, const void* compare, void* result, MPI_Datatype type, int target,
              MPI_Aint offset, MPI_Win window),
             (origin, compare, result, type, target, offset, window))
HAKOBI_OTHER(Win_fence, (int assertion, MPI_Win window), (assertion, window))
HAKOBI_OTHER(Win_post, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
HAKOBI_OTHER(Win_start, (MPI_Group group, int assertion, MPI_Win window), (group, assertion, window))
HAKOBI_OTHER(Win_complete, (MPI_Win window), (window))
HAKOBI_OTHER(Win_wait, (MPI_Win window), (window))
HAKOBI_OTHER(Win_test, (MPI_Win window, int* flag), (window, flag))
HAKOBI_OTHER(Win_lock, (int kind, int rank, int assertion, MPI_Win window), (kind, rank, assertion, window))
HAKOBI_OTHER(Win_lock_all, (int assertion, MPI_Win window), (assertion, window))
HAKOBI_OTHER(Win_unlock, (int rank, MPI_Win window), (rank, window))
HAKOBI_OTHER(Win_unlock_all, (MPI_Win window), (window))
HAKOBI_OTHER(Win_flush, (int rank, MPI_Win window), (rank, window))
HAKOBI_OTHER(Win_flush_all, (MPI_Win window), (window))
HAKOBI_OTHER(Win_flush_local, (int rank, MPI_Win window), (rank, window))
HAKOBI_OTHER(Win_flush_local_all, (MPI_Win window), (window))

#if MPI_VERSION >= 4
HAKOBI_COLLECTIVES(_c, MPI_Count, MPI_Aint)
HAKOBI_ONE_SIDED(_c, MPI_Count)

#define HAKOBI_SINCE_4(suffix, Count, Offset)                                                                \
    HAKOBI_PERSISTENT(                                                                                       \
        Allgatherv_init##suffix,                                                                             \
        (const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],    \
         const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm),                                  \
        (send, send_count, send_type, receive, counts, offsets, receive_type, comm))                         \
    HAKOBI_PERSISTENT(                                                                                       \
        Gatherv_init##suffix,                                                                                \
        (const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],    \
         const Offset offsets[], MPI_Datatype receive_type, int root, MPI_Comm comm),                        \
        (send, send_count, send_type, receive, counts, offsets, receive_type, root, comm))                   \
    HAKOBI_PERSISTENT(                                                                                       \
        Scatterv_init##suffix,                                                                               \
        (const void* send, const Count counts[], const Offset offsets[], MPI_Datatype send_type,             \
         void* receive, Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),            \
        (send, counts, offsets, send_type, receive, receive_count, receive_type, root, comm))                \
    HAKOBI_PERSISTENT(Alltoallv_init##suffix,                                                                \
                      (const void* send, const Count send_counts[], const Offset send_offsets[],             \
                       MPI_Datatype send_type, void* receive, const Count receive_counts[],                  \
                       const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),            \
                      (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets, \
                       receive_type, comm))                                                                  \
    HAKOBI_PERSISTENT(Alltoallw_init##suffix,                                                                \
                      (const void* send, const Count send_counts[], const Offset send_offsets[],             \
                       const MPI_Datatype send_types[], void* receive, const Count receive_counts[],         \
                       const Offset receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm),   \
                      (send, send_counts, send_offsets, send_types, receive, receive_counts,                 \
                       receive_offsets, receive_types, comm))                                                \
    HAKOBI_PERSISTENT(Reduce_scatter_init##suffix,                                                           \
                      (const void* send, void* receive, const Count counts[], MPI_Datatype type, MPI_Op op,  \
                       MPI_Comm comm),                                                                       \
                      (send, receive, counts, type, op, comm))                                               \
    HAKOBI_PERSISTENT(                                                                                       \
        Reduce_scatter_block_init##suffix,                                                                   \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_PERSISTENT(                                                                                       \
        Scan_init##suffix,                                                                                   \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_PERSISTENT(                                                                                       \
        Exscan_init##suffix,                                                                                 \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_PERSISTENT(Neighbor_allgather_init##suffix,                                                       \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                       \
                      (send, send_count, send_type, receive, receive_count, receive_type, comm))             \
    HAKOBI_PERSISTENT(                                                                                       \
        Neighbor_allgatherv_init##suffix,                                                                    \
        (const void* send, Count send_count, MPI_Datatype send_type, void* receive, const Count counts[],    \
         const Offset offsets[], MPI_Datatype receive_type, MPI_Comm comm),                                  \
        (send, send_count, send_type, receive, counts, offsets, receive_type, comm))                         \
    HAKOBI_PERSISTENT(Neighbor_alltoall_init##suffix,                                                        \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                       \
                      (send, send_count, send_type, receive, receive_count, receive_type, comm))             \
    HAKOBI_PERSISTENT(Neighbor_alltoallv_init##suffix,                                                       \
                      (const void* send, const Count send_counts[], const Offset send_offsets[],             \
                       MPI_Datatype send_type, void* receive, const Count receive_counts[],                  \
                       const Offset receive_offsets[], MPI_Datatype receive_type, MPI_Comm comm),            \
                      (send, send_counts, send_offsets, send_type, receive, receive_counts, receive_offsets, \
                       receive_type, comm))                                                                  \
    HAKOBI_PERSISTENT(Neighbor_alltoallw_init##suffix,                                                       \
                      (const void* send, const Count send_counts[], const MPI_Aint send_offsets[],           \
                       const MPI_Datatype send_types[], void* receive, const Count receive_counts[],         \
                       const MPI_Aint receive_offsets[], const MPI_Datatype receive_types[], MPI_Comm comm), \
                      (send, send_counts, send_offsets, send_types, receive, receive_counts,                 \
                       receive_offsets, receive_types, comm))                                                \
    HAKOBI_PERSISTENT(Bcast_init##suffix,                                                                    \
                      (void* buffer, Count count, MPI_Datatype type, int root, MPI_Comm comm),               \
                      (buffer, count, type, root, comm))                                                     \
    HAKOBI_PERSISTENT(Reduce_init##suffix,                                                                   \
                      (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, int root, \
                       MPI_Comm comm),                                                                       \
                      (send, receive, count, type, op, root, comm))                                          \
    HAKOBI_PERSISTENT(                                                                                       \
        Allreduce_init##suffix,                                                                              \
        (const void* send, void* receive, Count count, MPI_Datatype type, MPI_Op op, MPI_Comm comm),         \
        (send, receive, count, type, op, comm))                                                              \
    HAKOBI_PERSISTENT(Gather_init##suffix,                                                                   \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),             \
                      (send, send_count, send_type, receive, receive_count, receive_type, root, comm))       \
    HAKOBI_PERSISTENT(Allgather_init##suffix,                                                                \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                       \
                      (send, send_count, send_type, receive, receive_count, receive_type, comm))             \
    HAKOBI_PERSISTENT(Scatter_init##suffix,                                                                  \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, int root, MPI_Comm comm),             \
                      (send, send_count, send_type, receive, receive_count, receive_type, root, comm))       \
    HAKOBI_PERSISTENT(Alltoall_init##suffix,                                                                 \
                      (const void* send, Count send_count, MPI_Datatype send_type, void* receive,            \
                       Count receive_count, MPI_Datatype receive_type, MPI_Comm comm),                       \
                      (send, send_count, send_type, receive, receive_count, receive_type, comm))             \
    HAKOBI_REQUEST(                                                                                          \
        Isendrecv##suffix,                                                                                   \
        (const void* send, Count send_count, MPI_Datatype send_type, int to, int send_tag, void* receive,    \
         Count receive_count, MPI_Datatype receive_type, int from, int receive_tag, MPI_Comm comm),          \
        (send, send_count, send_type, to, send_tag, receive, receive_count, receive_type, from, receive_tag, \
         comm))                                                                                              \
    HAKOBI_REQUEST(Isendrecv_replace##suffix,                                                                \
                   (void* buffer, Count count, MPI_Datatype type, int to, int send_tag, int from,            \
                    int receive_tag, MPI_Comm comm),                                                         \
                   (buffer, count, type, to, send_tag, from, receive_tag, comm))
HAKOBI_SINCE_4(, int, int)
HAKOBI_SINCE_4(_c, MPI_Count, MPI_Aint)
HAKOBI_PERSISTENT(Barrier_init, (MPI_Comm comm), (comm))
HAKOBI_PERSISTENT(Psend_init,
                  (const void* buffer, int num_parts, MPI_Count count, MPI_Datatype type, int to, int tag,
                   MPI_Comm comm),
                  (buffer, num_parts, count, type, to, tag, comm))
HAKOBI_PERSISTENT(Precv_init,
                  (void* buffer, int num_parts, MPI_Count count, MPI_Datatype type, int from, int tag,
                   MPI_Comm comm),
                  (buffer, num_parts, count, type, from, tag, comm))
#endif

}  // extern "C"
