/* PnetCDF in the manner of FLASH: blocks of a few variables a rank, collective and nonblocking puts, then
 * read back. */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

enum { num_variables = 12, blocks = 5, edge = 8 };

static void check(int status, const char* what) {
    if (status == NC_NOERR) return;
    fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    int rank, num_ranks, file, dimensions[4], variables[num_variables], strided;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
    check(ncmpi_def_dim(file, "block", (MPI_Offset)blocks * num_ranks, &dimensions[0]), "def_dim");
    check(ncmpi_def_dim(file, "z", edge, &dimensions[1]), "def_dim");
    check(ncmpi_def_dim(file, "y", edge, &dimensions[2]), "def_dim");
    check(ncmpi_def_dim(file, "x", edge, &dimensions[3]), "def_dim");
    for (int v = 0; v < num_variables; ++v) {
        char name[16];
        snprintf(name, sizeof name, "unk%02d", v);
        check(ncmpi_def_var(file, name, NC_DOUBLE, 4, dimensions, &variables[v]), "def_var");
    }
    check(ncmpi_def_var(file, "strided", NC_INT, 1, &dimensions[0], &strided), "def_var");
    check(ncmpi_enddef(file), "enddef");

    const size_t values = (size_t)blocks * edge * edge * edge;
    double* data = malloc(values * sizeof *data);
    MPI_Offset start[4] = {(MPI_Offset)blocks * rank, 0, 0, 0}, count[4] = {blocks, edge, edge, edge};
    for (int v = 0; v < num_variables; ++v) {
        for (size_t i = 0; i < values; ++i) data[i] = v * 1e6 + rank * 1e4 + (double)i;
        if (v % 2 == 0) {
            check(ncmpi_put_vara_double_all(file, variables[v], start, count, data), "put_vara_all");
        } else {
            int request, status;
            check(ncmpi_iput_vara_double(file, variables[v], start, count, data, &request), "iput_vara");
            check(ncmpi_wait_all(file, 1, &request, &status), "wait_all");
        }
    }
    MPI_Offset first = rank, number = blocks, stride = num_ranks;
    int marks[blocks];
    for (int i = 0; i < blocks; ++i) marks[i] = 100 * rank + i;
    check(ncmpi_put_vars_int_all(file, strided, &first, &number, &stride, marks), "put_vars_all");
    check(ncmpi_close(file), "close");

    double sum = 0, total = 0;
    check(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file), "open");
    for (int v = 0; v < num_variables; ++v) {
        check(ncmpi_get_vara_double_all(file, variables[v], start, count, data), "get_vara_all");
        for (size_t i = 0; i < values; ++i) sum += data[i] * (double)(i % 31);
    }
    check(ncmpi_close(file), "close");
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %.17g\n", total);
    free(data);
    MPI_Finalize();
    return 0;
}
