// Many files open at once, every second one of one rank alone: more than the MPI library has communicators
// for, if each took some, or with few descriptors for each. many_files_program FILES DESCRIPTORS: 0 leaves
// the limit as it is. Status 77 where the system allows fewer descriptors.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0, num_wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 1);
    const int num_files = atoi(argv[1]);
    struct rlimit limit;
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t wanted = (rlim_t)atoi(argv[2]);
    if (wanted > limit.rlim_max) {
        MPI_Finalize();
        return 77;
    }
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
    char folder[] = "/tmp/hakobi-many-XXXXXX", name[100];
    if (rank == 0 && mkdtemp(folder) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    MPI_File* const files = malloc((size_t)num_files * sizeof(MPI_File));
    int num_open = 0;
    for (; num_open < num_files; ++num_open) {
        const int is_own = num_open % 2;
        snprintf(name, sizeof name, "%s/%d.%d", folder, num_open, is_own ? rank : -1);
        const int error = MPI_File_open(is_own ? MPI_COMM_SELF : MPI_COMM_WORLD, name,
                                        MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[num_open]);
        if (error != MPI_SUCCESS) {
            fprintf(stderr, "rank %d: file %d cannot be opened\n", rank, num_open);
            ++num_wrong;
            break;
        }
        const int value = 10 * num_open + rank;
        if (MPI_File_write_at_all(files[num_open], 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE) !=
            MPI_SUCCESS)
            ++num_wrong;
    }
    for (int i = 0; i < num_open; ++i) {
        int value = -1;
        MPI_File_read_at_all(files[i], 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        if (value != 10 * i + rank) {
            fprintf(stderr, "rank %d: file %d has %d\n", rank, i, value);
            ++num_wrong;
        }
        MPI_File_close(&files[i]);
        snprintf(name, sizeof name, "%s/%d.%d", folder, i, i % 2 ? rank : -1);
        if (i % 2 || rank == 0) unlink(name);
    }
    free(files);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) rmdir(folder);
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_wrong != 0;
}
