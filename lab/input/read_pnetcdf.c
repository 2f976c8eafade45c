/* read_pnetcdf FILE EDGE FIELDS [write]: through PnetCDF, each field by one collective call, from a file of
 * the CDF-5 format with the same values (PnetCDF as it is packaged reads no NetCDF-4), which `write`
 * makes. */
#include <pnetcdf.h>
#include <string.h>

#include "bench.h"

static void check(int status, const char* what) {
    if (status != NC_NOERR) fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    require(status == NC_NOERR, what);
}

static void write_file(const char* path, const Blocks* blocks, const MPI_Offset first[3],
                       const MPI_Offset extent[3]) {
    int file = 0, dimensions[3], *variables = (int*)calloc((size_t)blocks->num_fields, sizeof(int));
    require(variables != NULL, "allocating");
    check(ncmpi_create(MPI_COMM_WORLD, path, NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file),
          "ncmpi_create");
    const char* names[] = {"z", "y", "x"};
    for (int d = 0; d < 3; ++d)
        check(ncmpi_def_dim(file, names[d], blocks->edge, &dimensions[d]), "ncmpi_def_dim");
    for (int f = 0; f < blocks->num_fields; ++f) {
        char name[32];
        snprintf(name, sizeof name, "field%d", f);
        check(ncmpi_def_var(file, name, NC_DOUBLE, 3, dimensions, &variables[f]), "ncmpi_def_var");
    }
    check(ncmpi_enddef(file), "ncmpi_enddef");
    for (int f = 0; f < blocks->num_fields; ++f) {
        double* value = blocks->values[f];
        for (int64_t z = first[0]; z < first[0] + extent[0]; ++z) {
            for (int64_t y = first[1]; y < first[1] + extent[1]; ++y) {
                for (int64_t x = first[2]; x < first[2] + extent[2]; ++x)
                    *value++ = value_at(f, (z * blocks->edge + y) * blocks->edge + x);
            }
        }
        check(ncmpi_put_vara_double_all(file, variables[f], first, extent, blocks->values[f]),
              "ncmpi_put_vara_double_all");
    }
    check(ncmpi_close(file), "ncmpi_close");
    free(variables);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const Blocks blocks = make_blocks(argc, argv);
    const MPI_Offset first[3] = {blocks.first[0], blocks.first[1], blocks.first[2]};
    const MPI_Offset extent[3] = {blocks.extent[0], blocks.extent[1], blocks.extent[2]};
    if (argc > 4 && strcmp(argv[4], "write") == 0) {
        write_file(argv[1], &blocks, first, extent);
        MPI_Finalize();
        return 0;
    }
    const double begin_s = begin_time();
    int file = 0;
    check(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file), "ncmpi_open");
    for (int f = 0; f < blocks.num_fields; ++f) {
        char name[32];
        int variable = 0;
        snprintf(name, sizeof name, "field%d", f);
        check(ncmpi_inq_varid(file, name, &variable), "ncmpi_inq_varid");
        check(ncmpi_get_vara_double_all(file, variable, first, extent, blocks.values[f]),
              "ncmpi_get_vara_double_all");
    }
    check(ncmpi_close(file), "ncmpi_close");
    end_time(begin_s, &blocks);
    MPI_Finalize();
    return 0;
}
