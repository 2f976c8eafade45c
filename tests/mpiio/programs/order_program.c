// Rank 0 accesses by itself what all ranks then write together, no barrier between, and comes late. MPI
// leaves the order open; libraries whose ranks meet first keep that of rank 0's calls: it reads the old
// bytes, and the collective call's are the later ones.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { piece = 1 << 14, num_rounds = 5, late_us = 20000 };

static void require(int is_met, const char* what, int round) {
    if (is_met) return;
    fprintf(stderr, "round %d: %s\n", round, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int is_all(const char* bytes, int count, int value) {
    for (int i = 0; i < count; ++i)
        if (bytes[i] != value) return 0;
    return 1;
}

// Not by MPI: a read of a rank alone is what ends the case.
static void require_file(const char* name, int count, int value, int round) {
    char* bytes = malloc((size_t)count);
    FILE* file = fopen(name, "rb");
    require(file != NULL && fread(bytes, 1, (size_t)count, file) == (size_t)count, "a short file", round);
    require(is_all(bytes, count, value), "the bytes before the collective write are in the file", round);
    fclose(file);
    free(bytes);
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc == 2, "usage: order_program FILE", 0);
    const int count = piece * size;
    const MPI_Offset begin = (MPI_Offset)piece * rank;
    char* bytes = malloc((size_t)count);
    // 0: rank 0 writes; 1: it reads; 2: it writes by a handle of its own; 3: it begins to write, and
    // completes that late
#ifdef OPEN_MPI
    enum { num_kinds = 3 };  // OMPIO itself keeps no order with the fourth
#else
    enum { num_kinds = 4 };
#endif
    for (int kind = 0; kind < num_kinds; ++kind) {
        MPI_File file, own;
        MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
        MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &own);
        memset(bytes, 1, (size_t)count);
        for (int i = 0; i < 2; ++i)  // the engine is there, and knows the storage
            MPI_File_write_at_all(file, begin, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
        if (kind == 1 && rank == 0) MPI_File_read_at(own, 0, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int round = 2; round < num_rounds; ++round) {
            MPI_File_sync(file);
            MPI_Barrier(MPI_COMM_WORLD);
            MPI_File_sync(file);
            if (rank == 0 && kind == 3) {
                MPI_Request request;
                memset(bytes, 0, (size_t)count);
                MPI_File_iwrite_at(file, 0, bytes, count, MPI_BYTE, &request);
                usleep(late_us);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            } else if (rank == 0) {
                usleep(late_us);
                if (kind == 1) {
                    MPI_File_read_at(file, 0, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE);
                    require(is_all(bytes, count, round - 1), "rank 0 read what it comes to only later",
                            round);
                } else {
                    memset(bytes, 0, (size_t)count);
                    MPI_File_write_at(kind == 2 ? own : file, 0, bytes, count, MPI_BYTE, MPI_STATUS_IGNORE);
                }
            }
            memset(bytes, round, (size_t)count);
            MPI_File_write_at_all(file, begin, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) require_file(argv[1], count, round, round);
            MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_File_close(&own);
        MPI_File_close(&file);
    }
    free(bytes);
    MPI_Finalize();
    return 0;
}
