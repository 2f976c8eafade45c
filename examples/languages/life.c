/* Conway's Game of Life on ranks, by Hakobi from C: see life.cpp.
 * Usage: life [path] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hakobi.h>

#define NY 37
#define NX 53
#define NUM_STEPS 20

/* A failed collective call fails on every rank alike, so that every rank may leave here. */
static void check(int code) {
    if (code == HAKOBI_OK) return;
    fprintf(stderr, "life: %s\n", hakobi_error_text());
    MPI_Finalize();
    exit(2);
}

/* Rank 0 gets the whole from lists of the others' rows. */
static void print_whole(hakobi_comm* comm, const int* cells, const hakobi_block* block) {
    static int whole[NY * NX];
    const int64_t global[2] = {NY, NX}, pitch = block->count[1] + 2;
    const int size = hakobi_comm_size(comm);
    hakobi_buffer_arrays* arrays = NULL;
    hakobi_buffer_array* own = NULL;
    int64_t y;
    check(hakobi_buffer_arrays_get(comm, NULL, &arrays));
    check(hakobi_buffer_array_make(arrays, &own));
    for (y = 0; y < block->count[0]; ++y)
        check(hakobi_buffer_array_append(own, (int*)cells + (y + 1) * pitch + 1,
                                         block->count[1] * (int64_t)sizeof(int)));
    check(hakobi_buffer_array_send(own, 0, 0));
    if (hakobi_comm_rank(comm) == 0) {
        hakobi_buffer_array** parts = malloc(sizeof(hakobi_buffer_array*) * (size_t)size);
        int64_t alive = 0, places = 0, i;
        int rank;
        for (rank = 0; rank < size; ++rank) {
            hakobi_block part;
            check(hakobi_split(2, global, size, rank, &part));
            check(hakobi_buffer_array_make(arrays, &parts[rank]));
            for (y = part.start[0]; y < part.start[0] + part.count[0]; ++y)
                check(hakobi_buffer_array_append(parts[rank], whole + y * NX + part.start[1],
                                                 part.count[1] * (int64_t)sizeof(int)));
            check(hakobi_buffer_array_receive(parts[rank], rank, 0));
        }
        for (rank = 0; rank < size; ++rank) {
            check(hakobi_buffer_array_wait(parts[rank]));
            hakobi_buffer_array_free(parts[rank]);
        }
        free(parts);
        for (i = 0; i < NY * NX; ++i) {
            alive += whole[i];
            places += whole[i] * i;
        }
        printf("life: %lld alive after %d steps, sum of their places %lld\n", (long long)alive, NUM_STEPS,
               (long long)places);
    }
    check(hakobi_buffer_array_wait(own));
    hakobi_buffer_array_free(own);
    hakobi_buffer_arrays_free(arrays);
}

int main(int argc, char** argv) {
    const int64_t global[2] = {NY, NX};
    const int is_periodic[2] = {1, 1};
    hakobi_comm *world = NULL, *comm = NULL;
    hakobi_topology* topology = NULL;
    hakobi_shared* memory = NULL;
    hakobi_halo* halo = NULL;
    hakobi_halo_grid grid = HAKOBI_INIT(hakobi_halo_grid);
    hakobi_halo_field field = HAKOBI_INIT(hakobi_halo_field);
    hakobi_halo_options options = HAKOBI_INIT(hakobi_halo_options);
    hakobi_block block;
    int dims[2], step, i, j, d;
    int *rank_at, *cells, *next;
    int64_t y, x, pitch;

    MPI_Init(&argc, &argv);
    check(hakobi_comm_duplicate(MPI_COMM_WORLD, &world));
    check(hakobi_dims_of_ranks(2, global, hakobi_comm_size(world), dims));
    check(hakobi_topology_discover(world, &topology));
    rank_at = malloc(sizeof(int) * (size_t)hakobi_comm_size(world));
    check(hakobi_topology_reorder(topology, 2, dims, NULL, is_periodic, rank_at, NULL));
    check(hakobi_comm_reordered(world, hakobi_comm_size(world), rank_at, &comm));
    free(rank_at);
    hakobi_topology_free(topology);
    check(hakobi_split(2, global, hakobi_comm_size(comm), hakobi_comm_rank(comm), &block));

    grid.num_dims = 2;
    for (d = 0; d < 2; ++d) {
        grid.extents[d] = block.count[d];
        grid.ghosts_low[d] = grid.ghosts_high[d] = 1;
        grid.ranks[d] = dims[d];
        grid.is_periodic[d] = 1;
    }
    pitch = block.count[1] + 2;
    check(hakobi_shared_allocate(comm, (block.count[0] + 2) * pitch * (int64_t)sizeof(int), &memory));
    cells = hakobi_shared_data(memory);
    for (y = 0; y < block.count[0]; ++y) {
        for (x = 0; x < block.count[1]; ++x) {
            const int64_t gy = block.start[0] + y, gx = block.start[1] + x;
            cells[(y + 1) * pitch + x + 1] = (7 * gy + 13 * gx + gx * gy) % 5 < 2;
        }
    }
    field.data = cells + pitch + 1; /* the first own element */
    field.element_bytes = (int64_t)sizeof(int);
    field.strides_bytes[0] = pitch * (int64_t)sizeof(int);
    field.strides_bytes[1] = (int64_t)sizeof(int);
    field.num_components = 1;
    options.path = argc > 1 ? argv[1] : "auto";
    check(hakobi_halo_plan(comm, &grid, 1, &field, &options, &halo));
    next = malloc(sizeof(int) * (size_t)(block.count[0] * block.count[1]));
    for (step = 0; step < NUM_STEPS; ++step) {
        check(hakobi_halo_start(halo)); /* what needs no ghosts would be computed between the two */
        check(hakobi_halo_wait(halo));
        for (y = 0; y < block.count[0]; ++y) {
            for (x = 0; x < block.count[1]; ++x) {
                const int* cell = cells + (y + 1) * pitch + x + 1;
                int around = -*cell;
                for (i = -1; i <= 1; ++i)
                    for (j = -1; j <= 1; ++j) around += cell[i * pitch + j];
                next[y * block.count[1] + x] = around == 3 || (around == 2 && *cell == 1);
            }
        }
        for (y = 0; y < block.count[0]; ++y)
            memcpy(cells + (y + 1) * pitch + 1, next + y * block.count[1],
                   sizeof(int) * (size_t)block.count[1]);
    }
    print_whole(comm, cells, &block);
    free(next);
    hakobi_halo_free(halo);
    hakobi_shared_free(memory);
    check(hakobi_comm_free(comm));
    check(hakobi_comm_free(world));
    MPI_Finalize();
    return 0;
}
