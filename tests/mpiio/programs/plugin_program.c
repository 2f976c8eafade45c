// A library that is loaded after a file was opened makes calls on it: at the shared file pointer, and by a
// function that it has looked up in the MPI library. Ends with status 1 where a value is wrong and no call
// has said so.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

static int rank, num_wrong;

static void expect(int holds, const char* what, int value) {
    if (holds) return;
    ++num_wrong;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, value);
}

int main(int argc, char** argv) {
    int size = 1, value = 0;
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                                  &file) != MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    value = 7 + rank;
    MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    void* const plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (plugin == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    union {
        void* object;
        int (*append)(MPI_File, MPI_Offset, int);
        int (*read)(MPI_File, MPI_Offset, int*);
    } call = {dlsym(plugin, "read_by_address")};
    value = 0;
    int error = call.read(file, 4 * rank, &value);
    expect(error != MPI_SUCCESS || value == 7 + rank, "read by address", value);
    MPI_Barrier(MPI_COMM_WORLD);
    call.object = dlsym(plugin, "append_shared");
    error = call.append(file, 4 * size, 100 + rank);
    expect(error == MPI_SUCCESS, "appending at the shared pointer", error);
    MPI_Barrier(MPI_COMM_WORLD);
    value = 0;
    MPI_File_read_at_all(file, 4 * (size + rank), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(value >= 100 && value < 100 + size, "appended", value);
    MPI_File_close(&file);
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_wrong != 0;
}
