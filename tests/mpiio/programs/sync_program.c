// A sync that fails on one rank, in the MPI library or below the engine, fails on every rank, and each rank's
// error handler is called once.
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { piece = 4096 };
static int is_failing, num_told;

// Stands before the C library's, for all libraries in this process.
int fsync(int fd) {
    if (is_failing) return errno = EIO, -1;
    return (int)syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    return fsync(fd);
}

static void count(MPI_File* file, int* error, ...) {
    (void)file;
    (void)error;
    ++num_told;
}

static void require(int is_met, const char* what, int rank) {
    if (is_met) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc == 2, "usage: sync_program FILE", rank);
    char bytes[piece] = "";
    MPI_File file;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(count, &handler);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                  MPI_INFO_NULL, &file);
    MPI_File_set_errhandler(file, handler);
    for (int failing_rank = 0; failing_rank < size; ++failing_rank) {
        for (int is_collective = 0; is_collective < 2; ++is_collective) {
#ifndef OPEN_MPI
            // ROMIO syncs where a rank has written; a small collective write is the leader's, rank 0's.
            if (is_collective && failing_rank != 0) continue;
#endif
            const MPI_Offset at = (MPI_Offset)piece * rank;
            const int error = is_collective
                                  ? MPI_File_write_at_all(file, at, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE)
                                  : MPI_File_write_at(file, at, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
            require(error == MPI_SUCCESS, "a write failed", rank);
            num_told = 0;
            is_failing = rank == failing_rank;
            const int synced = MPI_File_sync(file);
            is_failing = 0;
            require(synced != MPI_SUCCESS, "the sync succeeded", rank);
            require(num_told == 1, "the error handler was not called once", rank);
            require(MPI_File_sync(file) == MPI_SUCCESS, "the next sync failed", rank);
        }
    }
    MPI_Errhandler_free(&handler);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
