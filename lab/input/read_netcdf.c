/* read_netcdf FILE EDGE FIELDS: through parallel netCDF-4, each field by one collective call. */
#include <netcdf.h>
#include <netcdf_par.h>

#include "bench.h"

static void check(int status, const char* what) {
    if (status != NC_NOERR) fprintf(stderr, "%s: %s\n", what, nc_strerror(status));
    require(status == NC_NOERR, what);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Blocks blocks = make_blocks(argc, argv);
    /* The first dimension is the step's own record. */
    const size_t first[4] = {0, (size_t)blocks.first[0], (size_t)blocks.first[1], (size_t)blocks.first[2]};
    const size_t extent[4] = {1, (size_t)blocks.extent[0], (size_t)blocks.extent[1],
                              (size_t)blocks.extent[2]};
    const double begin_s = begin_time();
    int file = 0;
    check(nc_open_par(argv[1], NC_NOWRITE, MPI_COMM_WORLD, MPI_INFO_NULL, &file), "nc_open_par");
    for (int f = 0; f < blocks.num_fields; ++f) {
        char name[32];
        int variable = 0;
        snprintf(name, sizeof name, "field%d", f);
        check(nc_inq_varid(file, name, &variable), "nc_inq_varid");
        check(nc_var_par_access(file, variable, NC_COLLECTIVE), "nc_var_par_access");
        check(nc_get_vara_double(file, variable, first, extent, blocks.values[f]), "nc_get_vara_double");
    }
    check(nc_close(file), "nc_close");
    end_time(begin_s, &blocks);
    MPI_Finalize();
    return 0;
}
