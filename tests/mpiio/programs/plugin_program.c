// A library that is loaded after a file was opened makes calls on it: at the shared file pointer, and by a
// function that it has looked up in the MPI library. Ends with status 1 where a value is wrong and neither a
// call nor a line on stderr has said so: OMPIO tells nothing but such a line of a write that has failed.
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int rank, num_wrong;

static void expect(int holds, const char* what, int value) {
    if (holds) return;
    ++num_wrong;
    fprintf(stderr, "rank %d: %s: %d\n", rank, what, value);
}

typedef int (*Access)(MPI_File, MPI_Offset, int*);

/* Whether the call has said on stderr that there is no space. */
static int says_no_space(Access access, MPI_File file, MPI_Offset offset, int* value, int* error) {
    char said[4096] = "";
    FILE* const taken = tmpfile();
    const int terminal = dup(STDERR_FILENO);
    if (taken == NULL || terminal < 0) MPI_Abort(MPI_COMM_WORLD, 1);
    fflush(stderr);
    dup2(fileno(taken), STDERR_FILENO);
    *error = access(file, offset, value);
    fflush(stderr);
    dup2(terminal, STDERR_FILENO);
    close(terminal);
    rewind(taken);
    said[fread(said, 1, sizeof said - 1, taken)] = '\0';
    fclose(taken);
    return strstr(said, "No space left on device") != NULL;
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
        Access access;
    } call = {dlsym(plugin, "read_by_address")};
    value = 0;
    int error = call.access(file, 4 * rank, &value);
    expect(error != MPI_SUCCESS || value == 7 + rank, "read by address", value);
    MPI_Barrier(MPI_COMM_WORLD);
    call.object = dlsym(plugin, "append_shared");
    error = call.append(file, 4 * size, 100 + rank);
    expect(error == MPI_SUCCESS, "appending at the shared pointer", error);
    MPI_Barrier(MPI_COMM_WORLD);
    value = 0;
    MPI_File_read_at_all(file, 4 * (size + rank), &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(value >= 100 && value < 100 + size, "appended", value);
    call.object = dlsym(plugin, "write_by_address");
    value = 1000 + rank;
    const MPI_Offset behind = 4 * (2 * size + rank);
    const int is_told = says_no_space(call.access, file, behind, &value, &error) || error != MPI_SUCCESS;
    value = 0;
    MPI_File_read_at_all(file, behind, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    expect(is_told || value == 1000 + rank, "written by address", value);
    expect(argc < 4 || value == 1000 + rank, "written by address to a file that is the library's, too",
           value);
    MPI_File_close(&file);
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_wrong != 0;
}
