// A field in blocks of columns, written through a view and read back by rows, and one number a rank behind
// it, written by each rank alone: what every solver does, in every MPI since 2.0. Rank 0 prints the library's
// own name.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_rows = 60, num_columns = 4 };

static int check(int error, const char* what) {
    if (error != MPI_SUCCESS) fprintf(stderr, "blocks: %s failed\n", what);
    return error != MPI_SUCCESS;
}

int main(int argc, char** argv) {
    int rank = 0, num_ranks = 0, num_wrong = 0, num_got = 0, length = 0, num_wrong_of_all = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &num_ranks);
    enum { num_mine = num_rows * num_columns };
    const int num_all = num_mine * num_ranks;
    int mine[num_mine], back[num_mine];
    for (int i = 0; i < num_mine; ++i)
        mine[i] = i / num_columns * num_columns * num_ranks + rank * num_columns + i % num_columns;
    const int sizes[] = {num_rows, num_columns * num_ranks}, parts[] = {num_rows, num_columns};
    const int starts[] = {0, num_columns * rank};
    MPI_Datatype block;
    MPI_Type_create_subarray(2, sizes, parts, starts, MPI_ORDER_C, MPI_INT, &block);
    MPI_Type_commit(&block);
    MPI_File file;
    MPI_Status status;
    num_wrong += check(MPI_File_open(MPI_COMM_WORLD, argc > 1 ? argv[1] : "out.dat",
                                     MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
                       "open");
    num_wrong += check(MPI_File_set_view(file, 0, MPI_INT, block, "native", MPI_INFO_NULL), "set_view");
    num_wrong += check(MPI_File_write_all(file, mine, num_mine, MPI_INT, &status), "write_all");
    MPI_Get_count(&status, MPI_INT, &num_got);
    num_wrong += num_got != num_mine;
    num_wrong += check(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
    num_wrong +=
        check(MPI_File_read_at_all(file, (MPI_Offset)rank * num_mine, back, num_mine, MPI_INT, &status),
              "read_at_all");
    for (int i = 0; i < num_mine; ++i) num_wrong += back[i] != rank * num_mine + i;
    num_wrong += check(MPI_File_write_at(file, num_all + rank, &rank, 1, MPI_INT, &status), "write_at");
    num_wrong += check(MPI_File_close(&file), "close");
    MPI_Reduce(&num_wrong, &num_wrong_of_all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    MPI_Get_library_version(version, &length);
    version[strcspn(version, "\n")] = '\0';
    if (rank == 0) printf("%d wrong with %s\n", num_wrong_of_all, version);
    MPI_Type_free(&block);
    MPI_Finalize();
    return num_wrong_of_all != 0;
}
