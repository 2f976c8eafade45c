/* hdf5_output block FILE [EDGE [FIELDS]]: FIELDS datasets (1) of EDGE^3 doubles (320), a 3-D block a rank,
 * written collectively one after the other. */
#include <hdf5.h>

#include "bench.h"

int main(int argc, char** argv) {
    MPI_Offset first[3], extent[3];
    hsize_t edges[3], start[3], count[3];
    MPI_Init(&argc, &argv);
    require(argc >= 3, "hdf5_output block FILE [EDGE [FIELDS]]");
    const int edge = argc > 3 ? atoi(argv[3]) : 320;
    const int num_fields = argc > 4 ? atoi(argv[4]) : 1;
    double* values = make_block(edge, first, extent);
    for (int d = 0; d < 3; ++d) {
        edges[d] = (hsize_t)edge;
        start[d] = (hsize_t)first[d];
        count[d] = (hsize_t)extent[d];
    }
    const double begin_s = begin_time();
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_alignment(access, 1 << 16, 4096);
    const hid_t file = H5Fcreate(argv[2], H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file >= 0, "H5Fcreate");
    const hid_t space = H5Screate_simple(3, edges, NULL), memory = H5Screate_simple(3, count, NULL);
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    H5Pset_obj_track_times(creation, 0);
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL);
    H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
    double writing_s = 0;
    for (int f = 0; f < num_fields; ++f) {
        char name[32];
        snprintf(name, sizeof name, "field%d", f);
        const hid_t field =
            H5Dcreate2(file, name, H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT);
        require(field >= 0, "H5Dcreate2");
        const double writing_begin_s = MPI_Wtime();
        require(H5Dwrite(field, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "H5Dwrite");
        writing_s += MPI_Wtime() - writing_begin_s;
        H5Dclose(field);
    }
    require(H5Fclose(file) >= 0, "H5Fclose");
    end_time(begin_s, (double)edge * edge * edge * sizeof(double) * num_fields, writing_s);
    H5Pclose(creation);
    H5Pclose(transfer);
    H5Pclose(access);
    H5Sclose(space);
    H5Sclose(memory);
    free(values);
    MPI_Finalize();
    return 0;
}
