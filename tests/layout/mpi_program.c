/* mpi_program FILE MODE [NAME=VALUE ...]: opens FILE with these hints, writes 3 MiB of ranks' blocks of 64
 * KiB, in turn, by a collective call, reads them back, and rank 0 prints what MPI_File_get_info says of the
 * layout. MODE: "create", "exclusive" or "open". */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { block = 64 << 10, num_blocks = 48 };

static void print(int error, const char* call) {
    char text[MPI_MAX_ERROR_STRING];
    int length;
    MPI_Error_string(error, text, &length);
    fprintf(stderr, "%s: %s\n", call, text);
}

static void check(int error, const char* call) {
    if (error == MPI_SUCCESS) return;
    print(error, call);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Info info;
    MPI_Info_create(&info);
    for (int i = 3; i < argc; ++i) {
        char* value = strchr(argv[i], '=');
        *value = '\0';
        MPI_Info_set(info, argv[i], value + 1);
    }
    int mode = MPI_MODE_RDWR;
    if (strcmp(argv[2], "open") != 0) mode |= MPI_MODE_CREATE;
    if (strcmp(argv[2], "exclusive") == 0) mode |= MPI_MODE_EXCL;
    MPI_File file;
    const int error = MPI_File_open(MPI_COMM_WORLD, argv[1], mode, info, &file);
    if (error != MPI_SUCCESS) { /* on all ranks; MPICH's launcher may lose the text of one that aborts */
        print(error, "MPI_File_open");
        MPI_Finalize();
        return EXIT_FAILURE;
    }
    MPI_Info_free(&info);
    int amode;
    MPI_File_get_amode(file, &amode);
    if (amode != mode) fprintf(stderr, "the mode is %d, not %d\n", amode, mode);

    MPI_Datatype blocks;
    const int num_own = (num_blocks - rank + size - 1) / size;
    MPI_Type_vector(num_own, block, block * size, MPI_BYTE, &blocks);
    MPI_Type_commit(&blocks);
    check(MPI_File_set_view(file, (MPI_Offset)rank * block, MPI_BYTE, blocks, "native", MPI_INFO_NULL),
          "MPI_File_set_view");
    const int length = num_own * block;
    char *written = malloc((size_t)length), *back = malloc((size_t)length);
    for (int i = 0; i < length; ++i) written[i] = (char)(i * 7 + rank * 31 + i / block);
    check(MPI_File_write_at_all(file, 0, written, length, MPI_BYTE, MPI_STATUS_IGNORE),
          "MPI_File_write_at_all");
    check(MPI_File_sync(file), "MPI_File_sync");
    check(MPI_File_read_at_all(file, 0, back, length, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at_all");
    if (memcmp(written, back, (size_t)length) != 0) {
        fprintf(stderr, "rank %d reads other bytes\n", rank);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    check(MPI_File_get_info(file, &info), "MPI_File_get_info");
    const char* names[] = {"striping_factor", "striping_unit", "start_iodevice", "overstriping_ratio"};
    for (int i = 0; rank == 0 && i < 4; ++i) {
        char value[MPI_MAX_INFO_VAL + 1];
        int is_set;
        MPI_Info_get(info, names[i], MPI_MAX_INFO_VAL, value, &is_set);
        printf("%s=%s\n", names[i], is_set ? value : "");
    }
    MPI_Info_free(&info);
    check(MPI_File_close(&file), "MPI_File_close");
    MPI_Type_free(&blocks);
    free(written);
    free(back);
    MPI_Finalize();
    return 0;
}
