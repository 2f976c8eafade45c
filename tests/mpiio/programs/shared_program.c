// The shared file pointer in views, between collective calls that the drop-in takes: it needs the view in the
// MPI library.
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static void require(int error, const char* what) {
    if (error == MPI_SUCCESS) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    int values[20], back[4] = {0};
    MPI_File file;
    MPI_Offset position = -1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20; ++i) values[i] = 100 * (rank + 1) + i;
    require(
        MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
        "open");
    // The taken calls write beyond what the shared pointer reaches.
    require(MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    require(MPI_File_write_at_all(file, 1000 + 10 * rank, values, 10, MPI_INT, MPI_STATUS_IGNORE),
            "write_at_all");
    for (int r = 0; r < size; ++r) {
        if (r == rank)
            require(MPI_File_write_shared(file, values, 4, MPI_INT, MPI_STATUS_IGNORE), "write_shared");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    require(MPI_File_write_ordered(file, values + 4, rank + 1, MPI_INT, MPI_STATUS_IGNORE), "write_ordered");
    require(MPI_File_write_at_all(file, 2000 + 10 * rank, values + 10, 10, MPI_INT, MPI_STATUS_IGNORE),
            "write_at_all");
    require(MPI_File_get_position_shared(file, &position), "get_position_shared");
    MPI_Barrier(MPI_COMM_WORLD);
    require(MPI_File_seek_shared(file, 4, MPI_SEEK_SET), "seek_shared");
    for (int r = 0; r < size; ++r) {
        if (r == rank)
            require(MPI_File_read_shared(file, back, 1, MPI_INT, MPI_STATUS_IGNORE), "read_shared");
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int r = 0; r < size; ++r) {
        int theirs = back[0];
        MPI_Bcast(&theirs, 1, MPI_INT, r, MPI_COMM_WORLD);
        if (rank == 0) printf("rank %d read %d, the pointer was at %ld\n", r, theirs, (long)position);
    }
    require(MPI_File_close(&file), "close");
    MPI_Finalize();
    return 0;
}
