// Nobody returns from MPI_File_close before all ranks have called it: rank 0 says when it has, and the
// others, who are late on purpose, must not hear of it before they close. Ends with status 1 where one does.
// Argument: how the ranks write.
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int rank = 0, size = 1, num_wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const char* const hows[] = {"nothing", "independent", "nonblocking", "collective", "both", "view"};
    for (int how = 0; how < 6; ++how) {
        MPI_File file;
        MPI_Request request = MPI_REQUEST_NULL;
        int has_closed = 0, byte = 1;
        MPI_Barrier(MPI_COMM_WORLD);
        if (MPI_File_open(MPI_COMM_WORLD, argv[argc - 1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file) != MPI_SUCCESS)
            MPI_Abort(MPI_COMM_WORLD, 1);
        if (how == 3 || how == 4) MPI_File_write_at_all(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        if (how == 5) MPI_File_set_view(file, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        for (int i = 0; rank != 0 && i < 20 && !has_closed; ++i) {
            usleep(10000);
            MPI_Iprobe(0, how, MPI_COMM_WORLD, &has_closed, MPI_STATUS_IGNORE);
        }
        if (has_closed) {
            ++num_wrong;
            fprintf(stderr, "%s: rank 0 has left MPI_File_close, rank %d has not called it\n", hows[how],
                    rank);
        }
        if (how == 1 || how == 4 || how == 5)
            MPI_File_write_at(file, rank, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE);
        if (how == 2) MPI_File_iwrite_at_all(file, rank, &byte, 1, MPI_BYTE, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_File_close(&file);
        if (rank != 0) {
            MPI_Recv(NULL, 0, MPI_INT, 0, how, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            for (int r = 1; r < size; ++r) MPI_Send(NULL, 0, MPI_INT, r, how, MPI_COMM_WORLD);
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_wrong != 0;
}
