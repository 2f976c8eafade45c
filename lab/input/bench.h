/* The common part of this folder's programs: each reads FIELDS fields of EDGE^3 doubles from a file, a 3-D
 * block a rank, and prints "<seconds> s <bytes> bytes", which compare.py reads. Time is from opening the file
 * to the end of closing it, on the slowest rank; the values are compared afterwards. */
#ifndef HAKOBI_BENCH_INPUT_H
#define HAKOBI_BENCH_INPUT_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct {
    int64_t edge, num_fields;
    int64_t first[3], extent[3];
    double** values; /* one array a field */
} Blocks;

static inline void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline double value_at(int64_t field, int64_t element) {
    return (double)(element * 3 + field);
}

static inline int64_t num_elements(const Blocks* blocks) {
    return blocks->extent[0] * blocks->extent[1] * blocks->extent[2];
}

/* Arguments 2 and 3 are EDGE and FIELDS. */
static inline Blocks make_blocks(int argc, char** argv) {
    require(argc > 3, "FILE EDGE FIELDS");
    Blocks blocks = {.edge = atoll(argv[2]), .num_fields = atoll(argv[3])};
    int rank, size, grid[3] = {0, 0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, grid);
    const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    for (int d = 0; d < 3; ++d) {
        blocks.first[d] = blocks.edge * place[d] / grid[d];
        blocks.extent[d] = blocks.edge * (place[d] + 1) / grid[d] - blocks.first[d];
    }
    blocks.values = (double**)calloc((size_t)blocks.num_fields, sizeof(double*));
    require(blocks.values != NULL, "allocating");
    for (int64_t f = 0; f < blocks.num_fields; ++f) {
        blocks.values[f] = (double*)malloc((size_t)num_elements(&blocks) * sizeof(double));
        require(blocks.values[f] != NULL, "allocating");
        for (int64_t i = 0; i < num_elements(&blocks); ++i) blocks.values[f][i] = -1; /* pages are there */
    }
    return blocks;
}

static inline void check_values(const Blocks* blocks) {
    for (int64_t f = 0; f < blocks->num_fields; ++f) {
        const double* value = blocks->values[f];
        for (int64_t z = 0; z < blocks->extent[0]; ++z) {
            for (int64_t y = 0; y < blocks->extent[1]; ++y) {
                int64_t element = (blocks->first[0] + z) * blocks->edge + blocks->first[1] + y;
                element = element * blocks->edge + blocks->first[2];
                for (int64_t x = 0; x < blocks->extent[2]; ++x)
                    require(*value++ == value_at(f, element + x), "reading what was written");
            }
        }
    }
}

static inline double begin_time(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* Prints the line, when the values are right. */
static inline void end_time(double begin_s, const Blocks* blocks) {
    const double mine = MPI_Wtime() - begin_s;
    double longest = 0;
    int rank = 0;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    check_values(blocks);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const double bytes =
        (double)(blocks->edge * blocks->edge * blocks->edge * blocks->num_fields) * sizeof(double);
    if (rank == 0) printf("%.9f s %.0f bytes\n", longest, bytes);
}

#endif
