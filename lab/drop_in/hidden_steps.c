/* hidden_steps KIND LAYOUT FOLDER STEPS MIB WORK: a simulation that computes and writes. KIND: mpi-io, or
 * hdf5 where it was built with it (four fields, a 3-D block a rank each, collectively). LAYOUT: a `file` a
 * step, or `one` file that all steps are appended to (mpi-io); `none` writes nothing. MIB are written a step,
 * by all ranks. WORK: units of computing a step and rank; 0: prints how many a second has, and ends.
 *
 * Prints "<seconds> s <bytes> bytes", from the first step's beginning to the end of MPI_Finalize's work:
 * hidden output is whole by then. */
#include <math.h>
#include <time.h>

#include "bench.h"
#ifdef HAVE_HDF5
#include <hdf5.h>
#endif

enum { num_fields = 4 };

static int rank, size, is_one;
static const char* folder;
static double* values;
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

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc == 7, "KIND LAYOUT FOLDER STEPS MIB WORK");
    const int is_hdf5 = strcmp(argv[1], "hdf5") == 0, is_none = strcmp(argv[2], "none") == 0;
    const long num_steps = atol(argv[4]), work = atol(argv[6]);
    is_one = strcmp(argv[2], "one") == 0;
    folder = argv[3];
    edge = (int)cbrt(atof(argv[5]) * 1048576 / sizeof(double) / num_fields);
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
    values = make_block(edge, first, extent);
    const MPI_Datatype block = block_type();
    MPI_File file = MPI_FILE_NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin_s = now_s();
    for (long step = 0; step < num_steps; ++step) {
        sum += compute(work);
        values[0] = (double)(step + rank) + (sum < 0);
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_none) continue;
        if (!is_hdf5) write_mpi_io(&file, block, (int)step);
#ifdef HAVE_HDF5
        if (is_hdf5) write_hdf5((int)step);
#else
        require(!is_hdf5, "HDF5 is not in this program:");
#endif
    }
    if (file != MPI_FILE_NULL) require(MPI_File_close(&file) == MPI_SUCCESS, "MPI_File_close");
    MPI_Datatype done = block;
    MPI_Type_free(&done);
    free(values);
    MPI_Finalize();
    const double bytes = is_none ? 0 : (double)num_steps * num_fields * edge * edge * edge * sizeof(double);
    if (rank == 0) printf("%.9f s %.0f bytes\n", now_s() - begin_s, bytes);
    return 0;
}
