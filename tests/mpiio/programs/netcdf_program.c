/* netCDF-4 in parallel: a record variable that grows, written by blocks with collective access, and read
 * back. */
#include <mpi.h>
#include <netcdf.h>
#include <netcdf_par.h>
#include <stdio.h>
#include <stdlib.h>

enum { rows = 24, columns = 30, steps = 4 };

static void check(int status, const char* what) {
    if (status == NC_NOERR) return;
    fprintf(stderr, "%s: %s\n", what, nc_strerror(status));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    int rank, num_ranks, file, dimensions[3], eta, bed;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    check(nc_create_par(argv[1], NC_NETCDF4 | NC_CLOBBER, MPI_COMM_WORLD, MPI_INFO_NULL, &file),
          "nc_create_par");
    check(nc_def_dim(file, "time", NC_UNLIMITED, &dimensions[0]), "nc_def_dim");
    check(nc_def_dim(file, "y", rows, &dimensions[1]), "nc_def_dim");
    check(nc_def_dim(file, "x", columns, &dimensions[2]), "nc_def_dim");
    check(nc_def_var(file, "eta", NC_DOUBLE, 3, dimensions, &eta), "nc_def_var");
    check(nc_def_var(file, "bed", NC_FLOAT, 2, dimensions + 1, &bed), "nc_def_var");
    check(nc_enddef(file), "nc_enddef");
    check(nc_var_par_access(file, eta, NC_COLLECTIVE), "nc_var_par_access");
    check(nc_var_par_access(file, bed, NC_COLLECTIVE), "nc_var_par_access");
    const size_t first = (size_t)columns * (size_t)rank / (size_t)num_ranks;
    const size_t width = (size_t)columns * (size_t)(rank + 1) / (size_t)num_ranks - first;
    double* values = malloc(rows * width * sizeof *values);
    float* depth = malloc(rows * width * sizeof *depth);
    for (size_t i = 0; i < rows * width; ++i) depth[i] = (float)(rank * 10 + (int)i);
    const size_t at[2] = {0, first}, extent[2] = {rows, width};
    check(nc_put_vara_float(file, bed, at, extent, depth), "nc_put_vara_float");
    for (size_t step = 0; step < steps; ++step) {
        const size_t start[3] = {step, 0, first}, count[3] = {1, rows, width};
        for (size_t i = 0; i < rows * width; ++i) values[i] = (double)step + rank + (double)i * 0.5;
        check(nc_put_vara_double(file, eta, start, count, values), "nc_put_vara_double");
    }
    check(nc_close(file), "nc_close");

    double sum = 0, total = 0;
    check(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_open_par");
    check(nc_var_par_access(file, eta, NC_COLLECTIVE), "nc_var_par_access");
    const size_t start[3] = {steps - 1, 0, first}, count[3] = {1, rows, width};
    check(nc_get_vara_double(file, eta, start, count, values), "nc_get_vara_double");
    for (size_t i = 0; i < rows * width; ++i) sum += values[i] * (double)(i % 13 + 1);
    check(nc_close(file), "nc_close");
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("sum %.17g\n", total);
    free(values);
    free(depth);
    MPI_Finalize();
    return 0;
}
