/* hidden_steps KIND LAYOUT FOLDER STEPS MIB WORK: a simulation that computes and writes. KIND:
 *
 *   mpi-io, hdf5      four fields, a 3-D block a rank each, collectively
 *   pnetcdf           the same as record variables of one file
 *   flash             as the FLASH code writes a checkpoint: 24 variables, 80 blocks a rank in each, by PnetCDF
 *   …-iput            the two by ncmpi_iput and one ncmpi_wait_all a step
 *
 * LAYOUT: a `file` a step (mpi-io, hdf5, flash), or `one` file that all steps are appended to (mpi-io,
 * pnetcdf); `none` writes nothing. MIB are written a step, by all ranks. WORK: units of computing a step and
 * rank; 0: prints how many a second has, and ends. HDF5 and PnetCDF are there where it was built with them.
 *
 * Prints "<seconds> s <bytes> bytes", from the first step's beginning to the end of MPI_Finalize's work:
 * hidden output is whole by then. */
#include <math.h>
#include <time.h>

#include "bench.h"
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif
#ifdef HAVE_PNETCDF
#include <pnetcdf.h>
#endif

enum { num_fields = 4 };

static int rank, size, is_one, is_flash, is_iput;
static const char* folder;
static double* values;
static size_t num_values;
static MPI_Offset first[3], extent[3];
static int edge;

static double now_s(void) { /* MPI_Wtime may not be called after MPI_Finalize */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Work that no compiler leaves out, and that needs no memory. */
static double compute(long units) {
    double sum = 0;
    for (long i = 0; i < units; ++i)
        for (int j = 1; j <= 1000; ++j) sum += sqrt((double)(i % 7 + j));
    return sum;
}

static const char* name_of(int step) {
    static char name[2048];
    snprintf(name, sizeof name, "%s/%s%04d.dat", folder, is_one ? "all" : "step", is_one ? 0 : step);
    return name;
}

static MPI_Datatype block_type(void) {
    const int sizes[3] = {edge, edge, edge}, starts[3] = {(int)first[0], (int)first[1], (int)first[2]},
              counts[3] = {(int)extent[0], (int)extent[1], (int)extent[2]};
    MPI_Datatype type;
    MPI_Type_create_subarray(3, sizes, counts, starts, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void write_mpi_io(MPI_File* file, MPI_Datatype block, int step) {
    const MPI_Offset field_bytes = (MPI_Offset)edge * edge * edge * (MPI_Offset)sizeof(double);
    const int count = (int)(extent[0] * extent[1] * extent[2]);
    if (*file == MPI_FILE_NULL)
        require(MPI_File_open(MPI_COMM_WORLD, name_of(step), MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL,
                              file) == MPI_SUCCESS,
                "MPI_File_open");
    for (int f = 0; f < num_fields; ++f) {
        MPI_File_set_view(*file, ((is_one ? step : 0) * num_fields + f) * field_bytes, MPI_DOUBLE, block,
                          "native", MPI_INFO_NULL);
        require(MPI_File_write_all(*file, values, count, MPI_DOUBLE, MPI_STATUS_IGNORE) == MPI_SUCCESS,
                "MPI_File_write_all");
    }
    if (!is_one) require(MPI_File_close(file) == MPI_SUCCESS, "MPI_File_close");
}

#ifdef HAVE_HDF5
static void write_hdf5(int step) {
    hsize_t edges[3], start[3], count[3];
    for (int d = 0; d < 3; ++d) {
        edges[d] = (hsize_t)edge;
        start[d] = (hsize_t)first[d];
        count[d] = (hsize_t)extent[d];
    }
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS), creation = H5Pcreate(H5P_DATASET_CREATE),
                transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    const hid_t file = H5Fcreate(name_of(step), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file >= 0, "H5Fcreate");
    const hid_t space = H5Screate_simple(3, edges, NULL), memory = H5Screate_simple(3, count, NULL);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation, 0);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    for (int f = 0; f < num_fields; ++f) {
        char name[32];
        snprintf(name, sizeof name, "field%d", f);
        const hid_t field =
            H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        require(field >= 0 && H5Dwrite(field, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0,
                "H5Dwrite");
        H5Dclose(field);
    }
    require(H5Fclose(file) >= 0, "H5Fclose");
    H5Sclose(space);
    H5Sclose(memory);
    H5Pclose(access);
    H5Pclose(creation);
    H5Pclose(transfer);
}
#endif

#ifdef HAVE_PNETCDF
static int nc_file, nc_variables[num_variables];

static void check(int status, const char* what) {
    if (status != NC_NOERR) fprintf(stderr, "%s: %s\n", what, ncmpi_strerror(status));
    require(status == NC_NOERR, what);
}

static int num_nc_variables(void) {
    return is_flash ? num_variables : num_fields;
}

static void create_pnetcdf(int step) {
    int dimensions[4];
    check(ncmpi_create(MPI_COMM_WORLD, name_of(step), NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &nc_file),
          "ncmpi_create");
    const MPI_Offset longest = is_flash ? (MPI_Offset)blocks_a_rank * size : NC_UNLIMITED;
    check(ncmpi_def_dim(nc_file, is_flash ? "blocks" : "time", longest, &dimensions[0]), "ncmpi_def_dim");
    for (int d = 0; d < 3; ++d) {
        const char* const names[] = {"z", "y", "x"};
        check(ncmpi_def_dim(nc_file, names[d], edge, &dimensions[1 + d]), "ncmpi_def_dim");
    }
    for (int v = 0; v < num_nc_variables(); ++v) {
        char name[16];
        snprintf(name, sizeof name, "unknown%02d", v);
        check(ncmpi_def_var(nc_file, name, NC_DOUBLE, 4, dimensions, &nc_variables[v]), "ncmpi_def_var");
    }
    check(ncmpi_enddef(nc_file), "ncmpi_enddef");
}

static void write_pnetcdf(int step) {
    MPI_Offset start[4], count[4];
    for (int d = 0; d < 3; ++d) {
        start[1 + d] = is_flash ? 0 : first[d];
        count[1 + d] = is_flash ? edge : extent[d];
    }
    start[0] = is_flash ? (MPI_Offset)blocks_a_rank * rank : step;
    count[0] = is_flash ? blocks_a_rank : 1;
    if (is_flash || step == 0) create_pnetcdf(step);
    static double* copies[num_variables]; /* pending puts may swap a buffer's bytes in place: one each */
    int requests[num_variables], statuses[num_variables];
    for (int v = 0; v < num_nc_variables(); ++v) {
        if (is_iput) {
            if (copies[v] == NULL) {
                copies[v] = malloc(num_values * sizeof(double));
                require(copies[v] != NULL, "allocating a copy");
                memcpy(copies[v], values, num_values * sizeof(double));
            }
            copies[v][0] = values[0];
            check(ncmpi_iput_vara_double(nc_file, nc_variables[v], start, count, copies[v], &requests[v]),
                  "ncmpi_iput_vara_double");
        } else {
            check(ncmpi_put_vara_double_all(nc_file, nc_variables[v], start, count, values),
                  "ncmpi_put_vara_double_all");
        }
    }
    if (is_iput) check(ncmpi_wait_all(nc_file, num_nc_variables(), requests, statuses), "ncmpi_wait_all");
    if (is_flash) check(ncmpi_close(nc_file), "ncmpi_close");
}
#endif

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc == 7, "KIND LAYOUT FOLDER STEPS MIB WORK");
    const int is_hdf5 = strcmp(argv[1], "hdf5") == 0, is_none = strcmp(argv[2], "none") == 0;
    const int is_pnetcdf = strncmp(argv[1], "pnetcdf", 7) == 0 || strncmp(argv[1], "flash", 5) == 0;
    const long num_steps = atol(argv[4]), work = atol(argv[6]);
    is_one = strcmp(argv[2], "one") == 0;
    is_flash = strncmp(argv[1], "flash", 5) == 0;
    is_iput = strstr(argv[1], "-iput") != NULL;
    folder = argv[3];
    const double num_blocks = is_flash ? (double)num_variables * blocks_a_rank * size : num_fields;
    edge = (int)cbrt(atof(argv[5]) * 1048576 / sizeof(double) / num_blocks);
    double sum = 0;
    if (work == 0) {
        compute(1000);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin_s = now_s();
        sum = compute(20000);
        const double mine = 20000 / (now_s() - begin_s);
        double least = 0;
        MPI_Reduce(&mine, &least, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
        if (rank == 0) printf("%.0f units a second%s\n", least, sum > 0 ? "" : "!");
        MPI_Finalize();
        return 0;
    }
    if (is_flash) {
        num_values = (size_t)blocks_a_rank * edge * edge * edge;
        values = malloc(num_values * sizeof(double));
        require(values != NULL, "allocating blocks");
        for (size_t i = 0; i < num_values; ++i) values[i] = (double)(rank * 1000003 + i);
    } else {
        values = make_block(edge, first, extent);
        num_values = (size_t)(extent[0] * extent[1] * extent[2]);
    }
    const MPI_Datatype block = is_flash ? MPI_DOUBLE : block_type();
    MPI_File file = MPI_FILE_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = now_s();
    for (long step = 0; step < num_steps; ++step) {
        sum += compute(work);
        values[0] = (double)(step + rank) + (sum < 0);
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_none) continue;
        if (!is_hdf5 && !is_pnetcdf) write_mpi_io(&file, block, (int)step);
#ifdef HAVE_HDF5
        if (is_hdf5) write_hdf5((int)step);
#else
        require(!is_hdf5, "HDF5 is not in this program:");
#endif
#ifdef HAVE_PNETCDF
        if (is_pnetcdf) write_pnetcdf((int)step);
#else
        require(!is_pnetcdf, "PnetCDF is not in this program:");
#endif
    }
#ifdef HAVE_PNETCDF
    if (is_pnetcdf && !is_flash && !is_none) check(ncmpi_close(nc_file), "ncmpi_close");
#endif
    if (file != MPI_FILE_NULL) require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
    MPI_Datatype done = block;
    if (!is_flash) MPI_Type_free(&done);
    free(values);
    MPI_Finalize();
    const double bytes = is_none ? 0 : (double)num_steps * num_blocks * edge * edge * edge * sizeof(double);
    if (rank == 0) printf("%.9f s %.0f bytes\n", now_s() - begin_s, bytes);
    return 0;
}
