/* The part of hakobi.h, which includes it, that moves data between ranks: collectives, halos, lists of
 * buffers, and where ranks are. Errors, options and texts are as it says. */
#ifndef HAKOBI_EXCHANGE_H
#define HAKOBI_EXCHANGE_H

#include <hakobi.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Collectives --------------------------------------------------------------------------------------- */

/* Collective operations on a declared network, planned once and executed many times (hakobi::Collectives). */
typedef struct hakobi_collectives hakobi_collectives;
typedef struct hakobi_collective_plan hakobi_collective_plan;

enum { HAKOBI_SUM = 0, HAKOBI_PRODUCT = 1, HAKOBI_MINIMUM = 2, HAKOBI_MAXIMUM = 3 };

/* Options of hakobi_collectives_create (hakobi::CollectivesOptions); equal on every rank. */
typedef struct hakobi_collectives_options {
    size_t struct_size;
    const char* topology;     /* NULL: "nodes"; "hypercrossbar:16,16,10", "torus:8,8,8" */
    const char* method;       /* NULL: "auto"; "model", "mpi" */
    int is_reproducible;      /* HAKOBI_YES: sums are bitwise equal in every run; 0: no */
    double latency_s;         /* 0: 2e-6 */
    double overhead_s;        /* 0: 0.5e-6 */
    double bandwidth_bytes_s; /* 0: 5e9 */
} hakobi_collectives_options;

/* Collective over `comm`; `options` may be NULL. On an error *collectives is NULL. */
HAKOBI_API int hakobi_collectives_create(hakobi_comm* comm, const hakobi_collectives_options* options,
                                         hakobi_collectives** collectives);
/* Planning is collective; arguments are equal on every rank. On an error *plan is NULL. Sizes of input and
 * output: allreduce `count` elements each; alltoall a block per rank each; allgather one block, and a block
 * per rank; broadcast no input, and `bytes`. */
HAKOBI_API int hakobi_collectives_allreduce(hakobi_collectives* collectives, int type, int reduction,
                                            int64_t count, hakobi_collective_plan** plan);
HAKOBI_API int hakobi_collectives_alltoall(hakobi_collectives* collectives, int64_t block_bytes,
                                           hakobi_collective_plan** plan);
HAKOBI_API int hakobi_collectives_allgather(hakobi_collectives* collectives, int64_t block_bytes,
                                            hakobi_collective_plan** plan);
HAKOBI_API int hakobi_collectives_broadcast(hakobi_collectives* collectives, int64_t bytes, int root,
                                            hakobi_collective_plan** plan);
/* Releases the message context and `collectives`; afterwards its plans may only be freed. Collective. */
HAKOBI_API int hakobi_collectives_free(hakobi_collectives* collectives);

/* Collective over the plan's ranks. `input` may be `output` (allgather: the rank's own block of it). start
 * and wait do the same in two steps; the memory must stay valid until wait returns. Ranks start plans in the
 * same order, and may wait for them in any order. Errors of start (the plan is in progress, or NULL instead
 * of data) are local to this rank. */
HAKOBI_API int hakobi_collective_plan_execute(hakobi_collective_plan* plan, const void* input, void* output);
HAKOBI_API int hakobi_collective_plan_start(hakobi_collective_plan* plan, const void* input, void* output);
HAKOBI_API int hakobi_collective_plan_test(hakobi_collective_plan* plan, int* is_complete);
HAKOBI_API int hakobi_collective_plan_wait(hakobi_collective_plan* plan);
/* The same for memory of a GPU: input is read when what `stream` holds at start_on is done, and what it is
 * given after wait_on finds the output. */
HAKOBI_API int hakobi_collective_plan_start_on(hakobi_collective_plan* plan, const void* input, void* output,
                                               void* stream);
HAKOBI_API int hakobi_collective_plan_wait_on(hakobi_collective_plan* plan, void* stream);
/* The chosen algorithm and why; valid as long as `plan`. */
HAKOBI_API const char* hakobi_collective_plan_explain(const hakobi_collective_plan* plan);
/* Never communicates. */
HAKOBI_API void hakobi_collective_plan_free(hakobi_collective_plan* plan);

/* ---- Halos --------------------------------------------------------------------------------------------- */

/* Memory that the ranks of a node share (hakobi::allocate_shared), and the exchange of ghost layers between
 * the ranks of a grid (hakobi::Halo; docs/exchange.md). */
typedef struct hakobi_shared hakobi_shared;
typedef struct hakobi_halo hakobi_halo;

enum { HAKOBI_MAX_HALO_DIMS = 5 };

/* The grid, slowest dimension first; the first num_dims entries of each array are used. `extents` are this
 * rank's own elements; the other members are equal on every rank. Ranks are numbered in C order. */
typedef struct hakobi_halo_grid {
    size_t struct_size;
    int num_dims;
    int64_t extents[HAKOBI_MAX_HALO_DIMS];
    int64_t ghosts_low[HAKOBI_MAX_HALO_DIMS], ghosts_high[HAKOBI_MAX_HALO_DIMS];
    int ranks[HAKOBI_MAX_HALO_DIMS];
    int is_periodic[HAKOBI_MAX_HALO_DIMS]; /* not 0: periodic */
} hakobi_halo_grid;

/* `data` is the first own element: ghosts lie before and after it. */
typedef struct hakobi_halo_field {
    size_t struct_size;
    void* data;
    int64_t element_bytes;
    int64_t strides_bytes[HAKOBI_MAX_HALO_DIMS];
    int64_t num_components; /* 0: 1 */
    int64_t component_stride_bytes;
    int64_t memory; /* where `data` is: HAKOBI_MEMORY_AUTOMATIC, ... */
} hakobi_halo_field;

/* Options of hakobi_halo_plan (hakobi::HaloOptions); equal on every rank. */
typedef struct hakobi_halo_options {
    size_t struct_size;
    int corners; /* HAKOBI_NO: faces only; 0: edges and corners, too */
    /* NULL: "auto", or HAKOBI_HALO_PATH; "direct", "deposit", "cma", "ipc", "staged", "aware", "packed",
     * "parts", "datatype" */
    const char* path;
    /* Longest wait for a neighbour before the program is aborted; 0: HAKOBI_HALO_TIMEOUT_S, else no limit. */
    double timeout_s;
} hakobi_halo_options;

/* Collective over `comm`; sizes may differ. On an error *shared is NULL. hakobi_shared_free never
 * communicates. */
HAKOBI_API int hakobi_shared_allocate(hakobi_comm* comm, int64_t bytes, hakobi_shared** shared);
HAKOBI_API void* hakobi_shared_data(const hakobi_shared* shared);
HAKOBI_API void hakobi_shared_free(hakobi_shared* shared);

/* Collective over `comm`; `options` may be NULL. The fields' memory must stay valid until hakobi_halo_free.
 * On an error *halo is NULL. */
HAKOBI_API int hakobi_halo_plan(hakobi_comm* comm, const hakobi_halo_grid* grid, int num_fields,
                                const hakobi_halo_field* fields, const hakobi_halo_options* options,
                                hakobi_halo** halo);
/* Between the two calls neither read nor write ghosts, and do not write own elements that are ghosts of a
 * neighbour. Every rank calls them; a call out of order returns HAKOBI_INVALID_ARGUMENT and changes
 * nothing. */
HAKOBI_API int hakobi_halo_start(hakobi_halo* halo);
HAKOBI_API int hakobi_halo_wait(hakobi_halo* halo);
/* The same for fields of a GPU's memory: own elements are sent when what `stream` holds at start_on is done,
 * and what it is given after wait_on finds the ghosts (hakobi::Halo::start). */
HAKOBI_API int hakobi_halo_start_on(hakobi_halo* halo, void* stream);
HAKOBI_API int hakobi_halo_wait_on(hakobi_halo* halo, void* stream);
/* How data reaches each neighbour; valid as long as `halo`. */
HAKOBI_API const char* hakobi_halo_explain(const hakobi_halo* halo);
/* Never communicates. */
HAKOBI_API void hakobi_halo_free(hakobi_halo* halo);

/* ---- Buffer arrays ------------------------------------------------------------------------------------- */

/* Lists of memory pieces that are sent and received as one message (hakobi::BufferArrays;
 * docs/exchange.md). */
typedef struct hakobi_buffer_arrays hakobi_buffer_arrays;
typedef struct hakobi_buffer_array hakobi_buffer_array;

/* Options of hakobi_buffer_arrays_get (hakobi::BufferArrayOptions); equal on every rank. */
typedef struct hakobi_buffer_arrays_options {
    size_t struct_size;
    const char* path;   /* NULL: "auto"; "cma", "packed" */
    int64_t pack_bytes; /* 0: 1 MiB */
} hakobi_buffer_arrays_options;

/* Collective over `comm`. On an error *arrays is NULL. Freeing never communicates; remaining lists stay
 * usable. */
HAKOBI_API int hakobi_buffer_arrays_get(hakobi_comm* comm, const hakobi_buffer_arrays_options* options,
                                        hakobi_buffer_arrays** arrays);
/* "cma" or "packed"; NULL if there is no such rank. */
HAKOBI_API const char* hakobi_buffer_arrays_path_to(const hakobi_buffer_arrays* arrays, int rank);
HAKOBI_API void hakobi_buffer_arrays_free(hakobi_buffer_arrays* arrays);

/* All local: make an empty list, append a piece (its memory must stay valid during operations; sending only
 * reads it), remove all pieces. */
HAKOBI_API int hakobi_buffer_array_make(const hakobi_buffer_arrays* arrays, hakobi_buffer_array** list);
HAKOBI_API int hakobi_buffer_array_append(hakobi_buffer_array* list, void* data, int64_t bytes);
/* The same, and where the piece is: HAKOBI_MEMORY_AUTOMATIC, as above, ... */
HAKOBI_API int hakobi_buffer_array_append_memory(hakobi_buffer_array* list, void* data, int64_t bytes,
                                                 int memory);
HAKOBI_API int hakobi_buffer_array_release(hakobi_buffer_array* list);
HAKOBI_API int64_t hakobi_buffer_array_bytes(const hakobi_buffer_array* list);
/* Start an operation and return immediately. Between two ranks, the k-th send with a tag (0 to 10000) matches
 * the k-th receive with that tag. `done` progresses the operation; `done` and `wait` return HAKOBI_FORMAT if
 * the sizes differ. */
HAKOBI_API int hakobi_buffer_array_send(hakobi_buffer_array* list, int to, int tag);
HAKOBI_API int hakobi_buffer_array_receive(hakobi_buffer_array* list, int from, int tag);
HAKOBI_API int hakobi_buffer_array_done(hakobi_buffer_array* list, int* is_done);
HAKOBI_API int hakobi_buffer_array_wait(hakobi_buffer_array* list);
/* The same for pieces of a GPU's memory: they are read or written when what `stream` holds at the call is
 * done, and what it is given after wait_on finds them received. */
HAKOBI_API int hakobi_buffer_array_send_on(hakobi_buffer_array* list, int to, int tag, void* stream);
HAKOBI_API int hakobi_buffer_array_receive_on(hakobi_buffer_array* list, int from, int tag, void* stream);
HAKOBI_API int hakobi_buffer_array_wait_on(hakobi_buffer_array* list, void* stream);
HAKOBI_API void hakobi_buffer_array_free(hakobi_buffer_array* list);

/* ---- Where ranks are ----------------------------------------------------------------------------------- */

/* The node and socket of each rank (hakobi::Topology). */
typedef struct hakobi_topology hakobi_topology;

/* Traffic between nodes in one exchange of all faces, in the weights' unit: original order, reordered; and in
 * total. */
typedef struct hakobi_traffic {
    size_t struct_size;
    int64_t between_nodes_before, between_nodes_after, total;
} hakobi_traffic;

/* Determined from the machine (collective over `comm`), or as declared (local; `socket_of_rank` may be
 * NULL). */
HAKOBI_API int hakobi_topology_discover(hakobi_comm* comm, hakobi_topology** topology);
HAKOBI_API int hakobi_topology_declare(int num_ranks, const int* node_of_rank, const int* socket_of_rank,
                                       hakobi_topology** topology);
HAKOBI_API int hakobi_topology_num_ranks(const hakobi_topology* topology);
HAKOBI_API int hakobi_topology_num_nodes(const hakobi_topology* topology);
/* -1 if there is no such rank. */
HAKOBI_API int hakobi_topology_node_of(const hakobi_topology* topology, int rank);
HAKOBI_API int hakobi_topology_socket_of(const hakobi_topology* topology, int rank);
/* Maps the ranks to the positions of a grid of ranks[0] x … in C order (`rank_at`: the rank at each
 * position), so that neighbours share memory as far as possible. `weights`: bytes of a face normal to each
 * dimension; NULL: all equal. `is_periodic` NULL: no dimension is. `traffic` may be NULL. Local. */
HAKOBI_API int hakobi_topology_reorder(const hakobi_topology* topology, int num_dims, const int* ranks,
                                       const int64_t* weights, const int* is_periodic, int* rank_at,
                                       hakobi_traffic* traffic);
HAKOBI_API void hakobi_topology_free(hakobi_topology* topology);

/* The same processes, renumbered so that the ranks form the grid in C order. Collective over `comm`;
 * `rank_at` (num_ranks entries) is equal on every rank. On an error *reordered is NULL. */
HAKOBI_API int hakobi_comm_reordered(hakobi_comm* comm, int num_ranks, const int* rank_at,
                                     hakobi_comm** reordered);

#ifdef __cplusplus
}
#endif

#endif
