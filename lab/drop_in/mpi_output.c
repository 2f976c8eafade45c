/* mpi_output [--swap] flash|block FILE [EDGE [FIELDS]]: what pnetcdf_output and hdf5_output write, by MPI-IO
 * alone: the same values in the same order of calls, without a header. Beside it the cost of the libraries
 * above MPI-IO shows.
 *   flash   24 calls of MPI_File_write_at_all, one piece a rank in each
 *   block   FIELDS calls (1) of MPI_File_write_all, each through a view: a 3-D block a rank of EDGE^3 doubles (320)
 *   --swap  each call's values go to the file in the other byte order: swapped in place before it and back after it, as
 *           PnetCDF does */
#include <stdint.h>

#include "bench.h"

static int has_other_byte_order;

/* Nothing without --swap. */
static void swap_bytes(double* values, int count) {
    for (int i = 0; i < count && has_other_byte_order; ++i) {
        uint64_t bits;
        memcpy(&bits, &values[i], sizeof bits);
        bits = __builtin_bswap64(bits);
        memcpy(&values[i], &bits, sizeof bits);
    }
}

static MPI_File open_new(const char* name) {
    MPI_File file;
    require(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                MPI_SUCCESS,
            "MPI_File_open");
    return file;
}

static void write_flash(const char* name, int edge) {
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int count = blocks_a_rank * edge * edge * edge;
    const MPI_Offset bytes = (MPI_Offset)count * (MPI_Offset)sizeof(double);
    double* values = malloc((size_t)bytes);
    require(values != NULL, "allocating blocks");
    for (int i = 0; i < count; ++i) values[i] = (double)(rank * 1000003 + i);
    const double begin_s = begin_time();
    MPI_File file = open_new(name);
    const double writing_begin_s = MPI_Wtime();
    for (int v = 0; v < num_variables; ++v) {
        const MPI_Offset at = ((MPI_Offset)v * size + rank) * bytes;
        swap_bytes(values, count);
        require(MPI_File_write_at_all(file, at, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                "MPI_File_write_at_all");
        swap_bytes(values, count);
    }
    const double writing_s = MPI_Wtime() - writing_begin_s;
    require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
    end_time(begin_s, (double)bytes * num_variables * size, writing_s);
    free(values);
}

static void write_block(const char* name, int edge, int num_fields) {
    MPI_Offset first[3], extent[3];
    double* values = make_block(edge, first, extent);
    const int whole[3] = {edge, edge, edge};
    const int part[3] = {(int)extent[0], (int)extent[1], (int)extent[2]};
    const int start[3] = {(int)first[0], (int)first[1], (int)first[2]};
    MPI_Datatype block;
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_DOUBLE, &block);
    MPI_Type_commit(&block);
    const int count = part[0] * part[1] * part[2];
    const MPI_Offset field_bytes = (MPI_Offset)edge * edge * edge * (MPI_Offset)sizeof(double);
    const double begin_s = begin_time();
    MPI_File file = open_new(name);
    const double writing_begin_s = MPI_Wtime();
    for (int f = 0; f < num_fields; ++f) {
        swap_bytes(values, count);
        require(MPI_File_set_view(file, f * field_bytes, MPI_DOUBLE, block, "native", MPI_INFO_NULL) ==
                        MPI_SUCCESS &&
                    MPI_File_write_all(file, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                "MPI_File_write_all");
        swap_bytes(values, count);
    }
    const double writing_s = MPI_Wtime() - writing_begin_s;
    require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
    MPI_Type_free(&block);
    end_time(begin_s, (double)field_bytes * num_fields, writing_s);
    free(values);
}

int main(int argc, char** argv) {
    has_other_byte_order = argc > 1 && strcmp(argv[1], "--swap") == 0;
    argc -= has_other_byte_order;
    argv += has_other_byte_order;
    return run_output(argc, argv, write_flash, write_block);
}
