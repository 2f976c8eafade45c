/* pnetcdf_output flash|block FILE [EDGE [FIELDS]]: collective output through PnetCDF.
 *   flash  as the FLASH code writes a checkpoint: 24 variables, 80 blocks of EDGE^3 doubles (16)
 *          a rank in each
 *   block  FIELDS variables (1) of EDGE^3 doubles (320), a 3-D block a rank */
#include <pnetcdf.h>

#include "bench.h"

static void check(int status, const char* what) {
    if (status != NC_NOERR) fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    require(status == NC_NOERR, what);
}

static void write_flash(const char* name, int edge) {
    int rank, size, file, dimensions[4], variables[num_variables];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const size_t count = (size_t)blocks_a_rank * edge * edge * edge;
    double* values = malloc(count * sizeof(double));
    require(values != NULL, "allocating blocks");
    for (size_t i = 0; i < count; ++i) values[i] = (double)(rank * 1000003 + i);
    const double begin_s = begin_time();
    check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
          "ncmpi_create");
    check(ncmpi_def_dim(file, "blocks", (MPI_Offset)blocks_a_rank * size, &dimensions[0]), "ncmpi_def_dim");
    check(ncmpi_def_dim(file, "z", edge, &dimensions[1]), "ncmpi_def_dim");
    check(ncmpi_def_dim(file, "y", edge, &dimensions[2]), "ncmpi_def_dim");
    check(ncmpi_def_dim(file, "x", edge, &dimensions[3]), "ncmpi_def_dim");
    for (int v = 0; v < num_variables; ++v) {
        char variable[16];
        snprintf(variable, sizeof variable, "unknown%02d", v);
        check(ncmpi_def_var(file, variable, NC_DOUBLE, 4, dimensions, &variables[v]), "ncmpi_def_var");
    }
    check(ncmpi_enddef(file), "ncmpi_enddef");
    const MPI_Offset first[4] = {(MPI_Offset)blocks_a_rank * rank, 0, 0, 0};
    const MPI_Offset extent[4] = {blocks_a_rank, edge, edge, edge};
    const double writing_begin_s = MPI_Wtime();
    for (int v = 0; v < num_variables; ++v) {
        check(ncmpi_put_vara_double_all(file, variables[v], first, extent, values),
              "ncmpi_put_vara_double_all");
    }
    const double writing_s = MPI_Wtime() - writing_begin_s;
    check(ncmpi_close(file), "ncmpi_close");
    end_time(begin_s, (double)count * sizeof(double) * num_variables * size, writing_s);
    free(values);
}

static void write_block(const char* name, int edge, int num_fields) {
    int file, dimensions[3];
    MPI_Offset first[3], extent[3];
    double* values = make_block(edge, first, extent);
    const double begin_s = begin_time();
    check(ncmpi_create(MPI_COMM_WORLD, name, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
          "ncmpi_create");
    for (int d = 0; d < 3; ++d) {
        const char* names[] = {"z", "y", "x"};
        check(ncmpi_def_dim(file, names[d], edge, &dimensions[d]), "ncmpi_def_dim");
    }
    int* const variables = calloc((size_t)num_fields, sizeof *variables);
    require(variables != NULL, "allocating variables");
    for (int f = 0; f < num_fields; ++f) {
        char field[32];
        snprintf(field, sizeof field, "field%d", f);
        check(ncmpi_def_var(file, field, NC_DOUBLE, 3, dimensions, &variables[f]), "ncmpi_def_var");
    }
    check(ncmpi_enddef(file), "ncmpi_enddef");
    const double writing_begin_s = MPI_Wtime();
    for (int f = 0; f < num_fields; ++f) {
        check(ncmpi_put_vara_double_all(file, variables[f], first, extent, values),
              "ncmpi_put_vara_double_all");
    }
    const double writing_s = MPI_Wtime() - writing_begin_s;
    check(ncmpi_close(file), "ncmpi_close");
    end_time(begin_s, (double)edge * edge * edge * sizeof(double) * num_fields, writing_s);
    free(variables);
    free(values);
}

int main(int argc, char** argv) {
    return run_output(argc, argv, write_flash, write_block);
}
