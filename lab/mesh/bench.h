/* The common part of this folder's programs: each rank's part of a box of EDGE^3 hexahedra, as an
 * unstructured mesh, and three fields on its cells: a scalar p, a vector U and a tensor gradU. Each program
 * writes STEPS steps and prints of each "<seconds> <bytes of the step's fields>": from a barrier to the
 * barrier behind the step's end on all ranks. */
#ifndef HAKOBI_BENCH_MESH_H
#define HAKOBI_BENCH_MESH_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { num_fields = 3 };
static const char* const field_names[num_fields] = {"p", "U", "gradU"};
static const int num_components[num_fields] = {1, 3, 9};

typedef struct {
    int64_t num_points, num_cells;     /* of this rank */
    int64_t first_point, first_cell;   /* behind those of the ranks before */
    int64_t total_points, total_cells; /* of all */
    double* points;                    /* x, y, z of each */
    int64_t *connectivity, *offsets;   /* eight points a cell; one offset more than cells */
    uint8_t* types;                    /* 12: VTK's hexahedron */
    double* values[num_fields];
} Part;

static inline void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static inline void* allocated(int64_t num, size_t bytes) {
    void* memory = malloc((size_t)num * bytes + 1);
    require(memory != NULL, "allocating");
    return memory;
}

static inline void sum_before(int64_t mine, int64_t* before, int64_t* total) {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    *before = 0;
    MPI_Exscan(&mine, before, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) *before = 0;
    MPI_Allreduce(&mine, total, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
}

/* Collective. */
static inline Part make_part(int64_t edge) {
    Part part = {0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, {NULL, NULL, NULL}};
    int rank, size, grid[3] = {0, 0, 0};
    int64_t first[3], extent[3];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 3, grid);
    const int place[3] = {rank / (grid[1] * grid[2]), rank / grid[2] % grid[1], rank % grid[2]};
    for (int d = 0; d < 3; ++d) {
        first[d] = edge * place[d] / grid[d];
        extent[d] = edge * (place[d] + 1) / grid[d] - first[d];
    }
    part.num_cells = extent[0] * extent[1] * extent[2];
    part.num_points = part.num_cells > 0 ? (extent[0] + 1) * (extent[1] + 1) * (extent[2] + 1) : 0;
    sum_before(part.num_cells, &part.first_cell, &part.total_cells);
    sum_before(part.num_points, &part.first_point, &part.total_points);
    part.points = (double*)allocated(3 * part.num_points, sizeof(double));
    part.connectivity = (int64_t*)allocated(8 * part.num_cells, sizeof(int64_t));
    part.offsets = (int64_t*)allocated(part.num_cells + 1, sizeof(int64_t));
    part.types = (uint8_t*)allocated(part.num_cells, 1);
    for (int64_t i = 0; i < part.num_points; ++i) {
        part.points[3 * i] = (double)(first[2] + i % (extent[2] + 1));
        part.points[3 * i + 1] = (double)(first[1] + i / (extent[2] + 1) % (extent[1] + 1));
        part.points[3 * i + 2] = (double)(first[0] + i / (extent[2] + 1) / (extent[1] + 1));
    }
    part.offsets[0] = 0;
    const int64_t row = extent[2] + 1, plane = row * (extent[1] + 1);
    const int64_t corners[8] = {0, 1, row + 1, row, plane, plane + 1, plane + row + 1, plane + row};
    for (int64_t i = 0; i < part.num_cells; ++i) {
        const int64_t point =
            i / extent[2] / extent[1] * plane + i / extent[2] % extent[1] * row + i % extent[2];
        for (int c = 0; c < 8; ++c) part.connectivity[8 * i + c] = point + corners[c];
        part.offsets[i + 1] = 8 * (i + 1);
        part.types[i] = 12;
    }
    for (int f = 0; f < num_fields; ++f)
        part.values[f] = (double*)allocated(num_components[f] * part.num_cells, sizeof(double));
    return part;
}

/* The k-th value of a field in the file is 3 k + its number + step / 2: compare.py knows. */
static inline void fill_values(Part* part, int step) {
    for (int f = 0; f < num_fields; ++f) {
        const int64_t first = num_components[f] * part->first_cell;
        for (int64_t k = 0; k < num_components[f] * part->num_cells; ++k)
            part->values[f][k] = 3.0 * (double)(first + k) + f + 0.5 * step;
    }
}

/* Before a step: the file of the one before goes (not the first's, which may have the mesh), so that the
 * step's pages are those just freed. Virtual machines give memory that stays free back to their hosts, and
 * then a new page costs far more than writing it. */
static inline void remove_step_before(const char* prefix, int step) {
    char path[4096];
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0 || step < 2) return;
    snprintf(path, sizeof path, "%s_%06d.hdf", prefix, step - 1);
    require(unlink(path) == 0, path);
}

static inline double begin_time(void) {
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_Wtime();
}

static inline void end_time(double begin_s, const Part* part) {
    int rank;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) printf("%.6f %lld\n", MPI_Wtime() - begin_s, (long long)(13 * 8 * part->total_cells));
}

static inline void free_part(Part* part) {
    free(part->points);
    free(part->connectivity);
    free(part->offsets);
    free(part->types);
    for (int f = 0; f < num_fields; ++f) free(part->values[f]);
}

#endif
