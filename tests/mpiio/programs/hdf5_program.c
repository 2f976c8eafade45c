/* Parallel HDF5 as programs use it: hyperslabs of a contiguous array, point selections, a chunked array with
 * filters,
   a rank without data, and everything read back. Writes the file named on the command line; prints a checksum. */
#include <hdf5.h>
#include <stdio.h>
#include <stdlib.h>

enum { planes = 6, rows = 20, columns = 36 };

static int rank, num_ranks;

static void fail_if(int condition, const char* what) {
    if (!condition) return;
    fprintf(stderr, "rank %d: %s failed\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static hid_t collective(void) {
    hid_t list = H5Pcreate(H5P_DATASET_XFER);
    fail_if(H5Pset_dxpl_mpio(list, H5FD_MPIO_COLLECTIVE) < 0, "H5Pset_dxpl_mpio");
    return list;
}

/* Without times, so that two runs write the same bytes. */
static hid_t creation(void) {
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_obj_track_times(list, 0);
    return list;
}

/* This rank's columns of an array of planes x rows x columns: many short pieces. */
static hid_t my_columns(hid_t space, hsize_t* num_columns) {
    hsize_t first = (hsize_t)columns * (hsize_t)rank / (hsize_t)num_ranks;
    hsize_t last = (hsize_t)columns * (hsize_t)(rank + 1) / (hsize_t)num_ranks;
    hsize_t start[3] = {0, 0, first}, count[3] = {planes, rows, last - first};
    *num_columns = last - first;
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    return H5Screate_simple(3, count, NULL);
}

static double array_sum(hid_t file, const char* name, hid_t list) {
    hid_t set = H5Dopen2(file, name, H5P_DEFAULT), space = H5Dget_space(set);
    hsize_t n;
    hid_t memory = my_columns(space, &n);
    double* values = calloc((size_t)planes * rows * n, sizeof *values);
    double sum = 0, total = 0;
    fail_if(H5Dread(set, H5T_NATIVE_DOUBLE, memory, space, list, values) < 0, "H5Dread");
    for (size_t i = 0; i < (size_t)planes * rows * n; ++i) sum += values[i] * (double)(i % 97 + 1);
    free(values);
    H5Sclose(memory), H5Sclose(space), H5Dclose(set);
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    return total;
}

static void write_array(hid_t file, const char* name, hid_t creation_list, hid_t list) {
    hsize_t extents[3] = {planes, rows, columns}, n;
    hid_t space = H5Screate_simple(3, extents, NULL);
    hid_t set = H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation_list, H5P_DEFAULT);
    hid_t memory = my_columns(space, &n);
    double* values = malloc((size_t)planes * rows * n * sizeof *values);
    fail_if(set < 0, "H5Dcreate2");
    for (size_t i = 0; i < (size_t)planes * rows * n; ++i) values[i] = rank * 1000.0 + (double)(i / 3);
    fail_if(H5Dwrite(set, H5T_NATIVE_DOUBLE, memory, space, list, values) < 0, "H5Dwrite");
    free(values);
    H5Sclose(memory), H5Sclose(space), H5Dclose(set);
}

/* Elements by their coordinates, dealt out to all ranks but the last, which selects nothing. All are written:
 * OMPIO
   leaves other than zeros in holes at a file's end. */
static void write_points(hid_t file, hid_t list) {
    hsize_t extent = 200, n = 0;
    hsize_t points[200];
    int values[200];
    hid_t space = H5Screate_simple(1, &extent, NULL), creation_list = creation();
    hid_t set = H5Dcreate2(file, "points", H5T_NATIVE_INT, space, H5P_DEFAULT, creation_list, H5P_DEFAULT);
    const int num_owners = num_ranks > 1 ? num_ranks - 1 : 1;
    for (hsize_t at = (hsize_t)rank; at < extent && rank < num_owners; at += (hsize_t)num_owners) {
        values[n] = (int)at * 3;
        points[n++] = at;
    }
    hid_t memory = H5Screate_simple(1, &extent, NULL);
    if (n == 0) {
        H5Sselect_none(space), H5Sselect_none(memory);
    } else {
        hsize_t zero = 0;
        H5Sselect_elements(space, H5S_SELECT_SET, n, points);
        H5Sselect_hyperslab(memory, H5S_SELECT_SET, &zero, NULL, &n, NULL);
    }
    fail_if(H5Dwrite(set, H5T_NATIVE_INT, memory, space, list, values) < 0, "H5Dwrite of points");
    H5Sclose(memory), H5Sclose(space), H5Pclose(creation_list), H5Dclose(set);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    hid_t access = H5Pcreate(H5P_FILE_ACCESS), list = collective();
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    hid_t file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    fail_if(file < 0, "H5Fcreate");
    hid_t plain = creation(), chunked = creation(), filtered = creation();
    hsize_t chunk[3] = {2, 8, 10};
    H5Pset_chunk(chunked, 3, chunk);
    H5Pset_chunk(filtered, 3, chunk);
    H5Pset_shuffle(filtered), H5Pset_deflate(filtered, 4);
    for (int step = 0; step < 3; ++step) {
        char name[32];
        snprintf(name, sizeof name, "plain_%d", step);
        write_array(file, name, plain, list);
    }
    write_array(file, "chunked", chunked, list);
    write_array(file, "filtered", filtered, list);
    write_points(file, list);
    H5Fclose(file);
    file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
    const char* const names[] = {"plain_0", "plain_2", "chunked", "filtered"};
    for (int i = 0; i < 4; ++i) {
        double sum = array_sum(file, names[i], list);
        if (rank == 0) printf("%s %.17g\n", names[i], sum);
    }
    H5Fclose(file);
    H5Pclose(plain), H5Pclose(chunked), H5Pclose(filtered), H5Pclose(list), H5Pclose(access);
    MPI_Finalize();
    return 0;
}
