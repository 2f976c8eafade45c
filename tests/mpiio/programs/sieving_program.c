// Rank 0 writes small blocks by itself, between which other ranks' bytes lie: ROMIO reads, changes and writes
// back the lot. Meanwhile the others are in a collective write of their own bytes, which rank 0 joins later
// with nothing. MPI calls that right, since no byte is written twice. With the argument "own" rank 0 writes
// by a handle of its own, as PnetCDF does in independent mode; with "atomic" by a second handle of all ranks,
// in a collective call that passes.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_tiles = 24, num_blocks = 64, block = 512, tile_step = block + 1, num_rounds = 6, piece = 1 << 18 };

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 1);
    const MPI_Aint extent = num_blocks * tile_step + (MPI_Aint)piece * (size - 1);
    MPI_Datatype part, tile;
    if (rank == 0) {
        MPI_Type_vector(num_blocks, block, tile_step, MPI_BYTE, &part);
    } else {
        MPI_Type_contiguous(piece, MPI_BYTE, &part);
    }
    MPI_Type_create_resized(part, 0, extent, &tile);
    MPI_Type_commit(&tile);
    MPI_File file, own;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    const int is_atomic = argc > 2 && strcmp(argv[2], "atomic") == 0;
    if (argc > 2) {
        const MPI_Comm comm = is_atomic ? MPI_COMM_WORLD : MPI_COMM_SELF;
        MPI_File_open(comm, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &own);
    }
    if (is_atomic) MPI_File_set_atomicity(own, 1);
    MPI_File_set_size(
        file, extent * num_tiles);  // ROMIO would leave what memory held between blocks behind the end
    const MPI_Offset begin = rank == 0 ? 0 : num_blocks * tile_step + (MPI_Offset)piece * (rank - 1);
    MPI_File_set_view(file, begin, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    if (argc > 2) MPI_File_set_view(own, begin, MPI_BYTE, tile, "native", MPI_INFO_NULL);
    const int num_bytes = (rank == 0 ? num_blocks * block : piece) * num_tiles;
    char* bytes = malloc((size_t)num_bytes);
    MPI_File_read_at_all(file, 0, bytes, num_bytes, MPI_BYTE,
                         MPI_STATUS_IGNORE);  // the engine knows the storage
    for (int round = 0; round < num_rounds; ++round) {
        memset(bytes, 'a' + 4 * round + rank, (size_t)num_bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        if (is_atomic)
            MPI_File_write_at_all(own, 0, bytes, rank == 0 ? num_bytes : 0, MPI_BYTE, MPI_STATUS_IGNORE);
        else if (rank == 0)
            MPI_File_write_at(argc > 2 ? own : file, 0, bytes, num_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_File_write_at_all(file, 0, bytes, rank == 0 ? 0 : num_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
        char name[32];
        snprintf(name, sizeof name, "round-%d-%s", round, argv[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {  // every round's file is compared
            FILE *from = fopen(argv[1], "rb"), *to = fopen(name, "wb");
            for (int c; (c = getc_unlocked(from)) != EOF;) putc_unlocked(c, to);
            fclose(from);
            fclose(to);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (argc > 2) MPI_File_close(&own);
    MPI_File_close(&file);
    MPI_Type_free(&part);
    MPI_Type_free(&tile);
    free(bytes);
    MPI_Finalize();
    return 0;
}
