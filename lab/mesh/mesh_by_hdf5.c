/* mesh_by_hdf5 PREFIX EDGE STEPS fixed|changes collective|independent: the same by parallel HDF5, in the same
 * layout: VTKHDF, a file a step, contiguous data sets that begin at whole stripes and are never filled, a
 * mesh that is fixed in the first step's file, to which later ones link. */
#include <hdf5.h>
#include <string.h>

#include "bench.h"

static hid_t transfer;

/* One data set, of which this rank has `count` elements from `first` on. */
static void write_array(hid_t group, const char* name, hid_t type, int64_t total, int64_t first,
                        int64_t count, int components, const void* values) {
    const hsize_t extents[2] = {(hsize_t)total, (hsize_t)components};
    const hsize_t start[2] = {(hsize_t)first, 0}, counts[2] = {(hsize_t)count, (hsize_t)components};
    const int num_dims = components > 1 ? 2 : 1;
    const hid_t creation = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(num_dims, extents, NULL);
    const hid_t memory = H5Screate_simple(num_dims, counts, NULL);
    H5Pset_layout(creation, H5D_CONTIGUOUS);
    H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER);
    const hid_t array = H5Dcreate2(group, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    require(array >= 0, "H5Dcreate2");
    H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, counts, NULL);
    require(H5Dwrite(array, type, memory, space, transfer, values) >= 0, "H5Dwrite");
    H5Dclose(array);
    H5Sclose(memory);
    H5Sclose(space);
    H5Pclose(creation);
}

static void put_attribute(hid_t group, const char* name, hid_t type, hid_t space, const void* value) {
    const hid_t attribute = H5Acreate2(group, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    require(H5Awrite(attribute, type, value) >= 0, "H5Awrite");
    H5Aclose(attribute);
    H5Sclose(space);
}

static const char* const mesh_names[] = {"NumberOfPoints", "NumberOfCells", "NumberOfConnectivityIds",
                                         "Points",         "Connectivity",  "Offsets",
                                         "Types"};

static void write_mesh(hid_t grid, const Part* part, int rank, int size) {
    const int64_t num_ids = 8 * part->num_cells;
    write_array(grid, mesh_names[0], H5T_NATIVE_INT64, size, rank, 1, 1, &part->num_points);
    write_array(grid, mesh_names[1], H5T_NATIVE_INT64, size, rank, 1, 1, &part->num_cells);
    write_array(grid, mesh_names[2], H5T_NATIVE_INT64, size, rank, 1, 1, &num_ids);
    write_array(grid, mesh_names[3], H5T_NATIVE_DOUBLE, part->total_points, part->first_point,
                part->num_points, 3, part->points);
    write_array(grid, mesh_names[4], H5T_NATIVE_INT64, 8 * part->total_cells, 8 * part->first_cell, num_ids,
                1, part->connectivity);
    write_array(grid, mesh_names[5], H5T_NATIVE_INT64, part->total_cells + size, part->first_cell + rank,
                part->num_cells + 1, 1, part->offsets);
    write_array(grid, mesh_names[6], H5T_NATIVE_UINT8, part->total_cells, part->first_cell, part->num_cells,
                1, part->types);
}

static void write_step(const char* prefix, int step, int has_mesh, const Part* part, int rank, int size) {
    char path[4096], first[4096];
    snprintf(path, sizeof path, "%s_%06d.hdf", prefix, step);
    const char* const folder_end = strrchr(prefix, '/');
    snprintf(first, sizeof first, "%s_%06d.hdf", folder_end != NULL ? folder_end + 1 : prefix, 0);
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
    H5Pset_alignment(access, 1 << 20, 1 << 20);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
    H5Pset_all_coll_metadata_ops(access, 1);
    H5Pset_coll_metadata_write(access, 1);
    const hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, access);
    require(file >= 0, path);
    const hid_t grid = H5Gcreate2(file, "VTKHDF", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const int64_t version[2] = {1, 0};
    const hsize_t two = 2;
    put_attribute(grid, "Version", H5T_NATIVE_INT64, H5Screate_simple(1, &two, NULL), version);
    const hid_t text = H5Tcopy(H5T_C_S1);
    H5Tset_size(text, 16);
    put_attribute(grid, "Type", text, H5Screate(H5S_SCALAR), "UnstructuredGrid");
    H5Tclose(text);
    if (has_mesh) {
        write_mesh(grid, part, rank, size);
    } else {
        for (size_t i = 0; i < sizeof mesh_names / sizeof *mesh_names; ++i) {
            char target[64];
            snprintf(target, sizeof target, "/VTKHDF/%s", mesh_names[i]);
            require(H5Lcreate_external(first, target, grid, mesh_names[i], H5P_DEFAULT, H5P_DEFAULT) >= 0,
                    "H5Lcreate_external");
        }
    }
    const hid_t cells = H5Gcreate2(grid, "CellData", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    for (int f = 0; f < num_fields; ++f)
        write_array(cells, field_names[f], H5T_NATIVE_DOUBLE, part->total_cells, part->first_cell,
                    part->num_cells, num_components[f], part->values[f]);
    H5Gclose(cells);
    H5Gclose(grid);
    H5Pclose(access);
    require(H5Fclose(file) >= 0, "H5Fclose");
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc > 5, "PREFIX EDGE STEPS fixed|changes collective|independent");
    Part part = make_part(atoll(argv[2]));
    const int changes = strcmp(argv[4], "changes") == 0;
    transfer = H5Pcreate(H5P_DATASET_XFER);
    H5Pset_dxpl_mpio(transfer,
                     strcmp(argv[5], "independent") == 0 ? H5FD_MPIO_INDEPENDENT : H5FD_MPIO_COLLECTIVE);
    for (int step = 0; step < atoi(argv[3]); ++step) {
        fill_values(&part, step);
        remove_step_before(argv[1], step);
        const double begin_s = begin_time();
        write_step(argv[1], step, step == 0 || changes, &part, rank, size);
        end_time(begin_s, &part);
    }
    H5Pclose(transfer);
    free_part(&part);
    MPI_Finalize();
    return 0;
}
