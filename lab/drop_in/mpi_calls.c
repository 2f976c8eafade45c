/* mpi_calls small-at|small|passed FILE [CALLS]: many calls of MPI-IO that move little.
 *   small-at  each rank writes 1 KiB in each MPI_File_write_at_all
 *   small     the same by MPI_File_write_all, through a view that deals out 1 KiB to each rank in turn
 *   passed    each rank calls MPI_File_read_at for nothing: what a call costs that is only passed on */
#include <string.h>

#include "bench.h"

enum { piece = 1024 };

int main(int argc, char** argv) {
    int rank, size;
    char bytes[piece];
    MPI_File file;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc >= 3, "mpi_calls small-at|small|passed FILE [CALLS]");
    const int is_at = strcmp(argv[1], "small-at") == 0, is_passed = strcmp(argv[1], "passed") == 0;
    const int calls = argc > 3 ? atoi(argv[3]) : 10000;
    memset(bytes, 'a' + rank % 26, sizeof bytes);
    const double begin_s = begin_time();
    require(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                MPI_SUCCESS,
            "MPI_File_open");
    if (!is_at && !is_passed) {
        MPI_Datatype dealt;
        MPI_Type_create_resized(MPI_BYTE, 0, 1, &dealt);
        MPI_Datatype mine;
        MPI_Type_contiguous(piece, dealt, &mine);
        MPI_Type_free(&dealt);
        MPI_Type_create_resized(mine, 0, (MPI_Aint)piece * size, &dealt);
        MPI_Type_commit(&dealt);
        MPI_File_set_view(file, (MPI_Offset)piece * rank, MPI_BYTE, dealt, "native", MPI_INFO_NULL);
        MPI_Type_free(&mine);
        MPI_Type_free(&dealt);
    }
    for (int i = 0; i < calls; ++i) {
        const MPI_Offset at = ((MPI_Offset)i * size + rank) * piece;
        const int error = is_passed ? MPI_File_read_at(file, at, bytes, 0, MPI_BYTE, MPI_STATUS_IGNORE)
                          : is_at ? MPI_File_write_at_all(file, at, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE)
                                  : MPI_File_write_all(file, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
        require(error == MPI_SUCCESS, "a call");
    }
    MPI_File_close(&file);
    end_time(begin_s, is_passed ? 0 : (double)calls * size * piece, 0);
    MPI_Finalize();
    return 0;
}
