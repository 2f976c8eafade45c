/* The common part of this folder's programs: they use MPI-IO or a library on it, know nothing of Hakobi, and
 * print one line, "<seconds> s <bytes> bytes[, <seconds> s writing]", which compare.py reads. Time is from
 * opening the file to the end of closing it, on the slowest rank; "writing" is its part within the library's
 * collective writes. */
#ifndef HAKOBI_BENCH_DROP_IN_H
#define HAKOBI_BENCH_DROP_IN_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline double begin_time(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

/* `writing_s`: 0 for programs that do not time their collective writes apart. */
static inline void end_time(double begin_s, double bytes, double writing_s) {
    double mine[2] = {MPI_Wtime() - begin_s, writing_s}, longest[2] = {0, 0};
    int rank = 0;
    MPI_Reduce(mine, longest, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    printf("%.9f s %.0f bytes", longest[0], bytes);
    if (longest[1] > 0) printf(", %.9f s writing", longest[1]);
    printf("\n");
}

static inline void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The block of this rank in an array of edge^3 elements, by a grid of all ranks; its first element and
 * extent. */
static inline double* make_block(int edge, MPI_Offset first[3], MPI_Offset extent[3]) {
    int rank, size, grid[3] = {0, 0, 0};
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, grid);
    const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    MPI_Offset count = 1;
    for (int d = 0; d < 3; ++d) {
        first[d] = (MPI_Offset)edge * place[d] / grid[d];
        extent[d] = (MPI_Offset)edge * (place[d] + 1) / grid[d] - first[d];
        count *= extent[d];
    }
    double* values = malloc((size_t)count * sizeof(double));
    require(values != NULL, "allocating a block");
    for (MPI_Offset i = 0; i < count; ++i) values[i] = (double)(rank * 1000003 + i);
    return values;
}

/* FLASH's checkpoint: variables, and blocks of EDGE^3 doubles a rank in each. */
enum { num_variables = 24, blocks_a_rank = 80 };

/* The main of a program called as "flash|block FILE [EDGE [FIELDS]]". */
static inline int run_output(int argc, char** argv, void (*write_flash)(const char* name, int edge),
                             void (*write_block)(const char* name, int edge, int num_fields)) {
    MPI_Init(&argc, &argv);
    const int is_flash = argc > 1 && strcmp(argv[1], "flash") == 0;
    const int is_block = argc > 1 && strcmp(argv[1], "block") == 0;
    require(argc >= 3 && (is_flash || is_block), "flash|block FILE [EDGE [FIELDS]]");
    const int edge = argc > 3 ? atoi(argv[3]) : is_flash ? 16 : 320;
    if (is_flash)
        write_flash(argv[2], edge);
    else
        write_block(argv[2], edge, argc > 4 ? atoi(argv[4]) : 1);
    MPI_Finalize();
    return 0;
}

#endif
