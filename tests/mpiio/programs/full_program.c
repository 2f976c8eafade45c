// Independent and collective writes in turns on a file system that gets full: errors may come, on any rank,
// and no rank waits for ever. A program that checks goes on after each.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { piece = 300000, num_rounds = 6 };

int main(int argc, char** argv) {
    int rank, size, num_errors[2] = {0, 0}, all[2];
    MPI_File file;
    MPI_Init(&argc, &argv);
    if (argc != 2) MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char* bytes = malloc(2 * piece);
    memset(bytes, 'a' + rank, 2 * piece);
    if (MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Datatype every_other;
    MPI_Type_vector(piece / 100, 100, 200, MPI_BYTE, &every_other);
    MPI_Type_commit(&every_other);
    for (int round = 0; round < num_rounds; ++round) {
        const MPI_Offset at = ((MPI_Offset)round * size + rank) * 4 * piece;
        MPI_File_set_view(file, at, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        num_errors[0] += MPI_File_write(file, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        num_errors[1] += MPI_File_write_all(file, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        if (rank == round % size)
            num_errors[0] += MPI_File_write(file, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        num_errors[1] +=
            MPI_File_write_at_all(file, 3 * piece, bytes, 1, every_other, MPI_STATUS_IGNORE) != MPI_SUCCESS;
        MPI_File_set_view(file, rank * 100, MPI_BYTE, every_other, "native", MPI_INFO_NULL);
        num_errors[1] +=
            MPI_File_write_all(file, bytes, piece / 2, MPI_BYTE, MPI_STATUS_IGNORE) != MPI_SUCCESS;
    }
    MPI_File_close(&file);
    MPI_Type_free(&every_other);
    free(bytes);
    MPI_Reduce(num_errors, all, 2, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("through, with %s independent errors and %s collective ones\n", all[0] > 0 ? "some" : "no",
               all[1] > 0 ? "some" : "no");
    MPI_Finalize();
    return 0;
}
