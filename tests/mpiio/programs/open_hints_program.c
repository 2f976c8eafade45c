// A program that opens its file with ROMIO's data sieving disabled: rank 0 writes small blocks by itself
// while the others write between them, each byte by one rank. Bytes that rank 0 had read and wrote back would
// be old ones of theirs.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_tiles = 800, tile = 1 << 16, block = 64, num_rounds = 10 };

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 2) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "romio_ds_write", "disable");
    MPI_File file;
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
    MPI_Info_free(&info);
    MPI_File_set_size(file, (MPI_Offset)num_tiles * tile);
    MPI_Datatype blocks;
    MPI_Type_vector(num_tiles, block, tile, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    MPI_File_set_view(file, 0, MPI_BYTE, rank == 0 ? blocks : MPI_BYTE, "native", MPI_INFO_NULL);
    char* bytes = malloc((size_t)num_tiles * tile);
    for (int round = 1; round <= num_rounds; ++round) {
        memset(bytes, rank == 0 ? round : -round, (size_t)num_tiles * tile);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) MPI_File_write_at(file, 0, bytes, num_tiles * block, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int t = rank - 1; t >= 0 && t < num_tiles; t += size - 1)
            MPI_File_write_at(file, (MPI_Offset)t * tile + block, bytes, tile - block, MPI_BYTE,
                              MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0) {
            FILE* from = fopen(argv[1], "rb");
            const size_t length = fread(bytes, 1, (size_t)num_tiles * tile, from);
            fclose(from);
            for (size_t i = 0; i < length; ++i) {
                if (bytes[i] == (i % tile < block ? round : -round)) continue;
                fprintf(stderr, "round %d: an old byte at %zu\n", round, i);
                MPI_Abort(MPI_COMM_WORLD, 1);
            }
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_File_close(&file);
    MPI_Type_free(&blocks);
    free(bytes);
    MPI_Finalize();
    return 0;
}
