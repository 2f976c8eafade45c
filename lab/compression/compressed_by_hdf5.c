/* compressed_by_hdf5 SOURCE.nc FILE deflate|zstd LEVEL STEPS CHUNK_Y CHUNK_X NAME...: the same by parallel
 * HDF5, with the same filters and chunks: a new file a step, collective writes of the ranks' blocks, H5Fclose
 * timed. NAMEs are data sets of (1, ny, nx) doubles. */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

static void require(int is_right, const char* what) {
    if (is_right) return;
    fprintf(stderr, "compressed_by_hdf5: %s failed\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

enum { zstd_id = 32015, max_fields = 16 };

/* HDF5's filter for zstd, of which this library has no plugin. It unpacks, too: HDF5 reads chunks that
 * several ranks write. */
static size_t filter_zstd(unsigned flags, size_t num, const unsigned* values, size_t bytes,
                          size_t* buffer_bytes, void** buffer) {
    const int is_reverse = (flags & H5Z_FLAG_REVERSE) != 0;
    const size_t room =
        is_reverse ? (size_t)ZSTD_getFrameContentSize(*buffer, bytes) : ZSTD_compressBound(bytes);
    void* result = malloc(room);
    if (result == NULL || num < 1) {
        free(result);
        return 0;
    }
    const size_t result_bytes = is_reverse ? ZSTD_decompress(result, room, *buffer, bytes)
                                           : ZSTD_compress(result, room, *buffer, bytes, (int)values[0]);
    if (ZSTD_isError(result_bytes)) {
        free(result);
        return 0;
    }
    free(*buffer);
    *buffer = result;
    *buffer_bytes = room;
    return result_bytes;
}

static hid_t open_parallel(const char* path, int is_new) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    const hid_t file =
        is_new ? H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access) : H5Fopen(path, H5F_ACC_RDONLY, access);
    H5Pclose(access);
    require(file >= 0, path);
    return file;
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc > 8 && argc <= 8 + max_fields,
            "SOURCE.nc FILE deflate|zstd LEVEL STEPS CHUNK_Y CHUNK_X NAME...");
    const int num_fields = argc - 8, is_zstd = strcmp(argv[3], "zstd") == 0;
    const unsigned level = (unsigned)atoi(argv[4]);
    const hsize_t chunk[3] = {1, (hsize_t)atoll(argv[6]), (hsize_t)atoll(argv[7])};
    const H5Z_class2_t zstd = {H5Z_CLASS_T_VERS, zstd_id, 1, 1, "zstd", NULL, NULL, filter_zstd};
    require(H5Zregister(&zstd) >= 0, "H5Zregister");

    const hid_t source = open_parallel(argv[1], 0);
    const hid_t transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    hsize_t extents[3], start[3] = {0, 0, 0}, count[3] = {1, 0, 0};
    double* values[max_fields];
    hid_t space = -1, memory = -1;
    int rows = 1;
    for (int d = 1; d * d <= size; ++d) {
        if (size % d == 0) rows = d;
    }
    for (int f = 0; f < num_fields; ++f) {
        const hid_t field = H5Dopen2(source, argv[8 + f], H5P_DEFAULT);
        require(field >= 0, "H5Dopen2");
        if (f == 0) {
            space = H5Dget_space(field);
            require(H5Sget_simple_extent_dims(space, extents, NULL) == 3, "a data set of three dimensions");
            const int parts[3] = {1, rows, size / rows},
                      place[3] = {0, rank / (size / rows), rank % (size / rows)};
            for (int d = 1; d < 3; ++d) {
                start[d] = extents[d] * (hsize_t)place[d] / (hsize_t)parts[d];
                count[d] = extents[d] * (hsize_t)(place[d] + 1) / (hsize_t)parts[d] - start[d];
            }
            memory = H5Screate_simple(3, count, NULL);
            H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
        }
        values[f] = malloc(sizeof(double) * count[1] * count[2]);
        require(values[f] != NULL, "malloc");
        require(H5Dread(field, H5T_NATIVE_DOUBLE, memory, space, transfer, values[f]) >= 0, "H5Dread");
        H5Dclose(field);
    }
    H5Fclose(source);

    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(creation, 3, chunk);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_shuffle(creation);
    if (is_zstd) {
        require(H5Pset_filter(creation, zstd_id, H5Z_FLAG_OPTIONAL, 1, &level) >= 0, "H5Pset_filter");
    } else {
        require(H5Pset_deflate(creation, level) >= 0, "H5Pset_deflate");
    }
    for (int step = 0; step < atoi(argv[5]); ++step) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin_s = MPI_Wtime();
        const hid_t file = open_parallel(argv[2], 1);
        for (int f = 0; f < num_fields; ++f) {
            const hid_t field =
                H5Dcreate2(file, argv[8 + f], H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
            require(field >= 0, "H5Dcreate2");
            require(H5Dwrite(field, H5T_NATIVE_DOUBLE, memory, space, transfer, values[f]) >= 0, "H5Dwrite");
            H5Dclose(field);
        }
        require(H5Fclose(file) >= 0, "H5Fclose");
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) printf("%.6f 0\n", MPI_Wtime() - begin_s);
    }
    for (int f = 0; f < num_fields; ++f) free(values[f]);
    H5Sclose(space);
    H5Sclose(memory);
    H5Pclose(creation);
    H5Pclose(transfer);
    MPI_Finalize();
    return 0;
}
