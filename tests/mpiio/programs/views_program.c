// Views, and what single ranks do in them: at the individual pointer and at offsets, between collective calls
// that the drop-in takes and some that it passes; with types that are freed at once; in a file that is
// renamed while it is open. Prints what the library says of the views.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { num_values = 40, coarse_bytes = 1 << 20 };

static int rank, size;

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

// Every size-th block of five integers, from the rank's own on.
static void set_view(MPI_File file, MPI_Offset displacement) {
    MPI_Datatype block, tile;
    MPI_Type_contiguous(5, MPI_INT, &block);
    MPI_Type_create_resized(block, 0, (MPI_Aint)sizeof(int) * 5 * size, &tile);
    MPI_Type_commit(&tile);
    require(MPI_File_set_view(file, displacement + (MPI_Offset)sizeof(int) * 5 * rank, MPI_INT, tile,
                              "native", MPI_INFO_NULL) == MPI_SUCCESS,
            "set_view");
    MPI_Type_free(&block);
    MPI_Type_free(&tile);
}

static void show(MPI_File file, const char* when) {
    MPI_Offset displacement = -1, bytes = -1, position = -1;
    MPI_Datatype etype, filetype;
    char representation[MPI_MAX_DATAREP_STRING] = "";
    int numbers[3], combiner = 0, filetype_size = 0;
    MPI_Aint lower = 0, extent = 0;
    require(MPI_File_get_view(file, &displacement, &etype, &filetype, representation) == MPI_SUCCESS,
            "get_view");
    require(MPI_File_get_byte_offset(file, 12, &bytes) == MPI_SUCCESS, "get_byte_offset");
    require(MPI_File_get_position(file, &position) == MPI_SUCCESS, "get_position");
    MPI_Type_get_envelope(etype, &numbers[0], &numbers[1], &numbers[2], &combiner);
    MPI_Type_size(filetype, &filetype_size);
    MPI_Type_get_extent(filetype, &lower, &extent);
    for (int r = 0; r < size; ++r) {
        long all[5] = {(long)displacement, (long)bytes, (long)position, filetype_size, (long)extent};
        if (r != 0 && r == rank) MPI_Send(all, 5, MPI_LONG, 0, 0, MPI_COMM_WORLD);
        if (rank != 0) continue;
        if (r != 0) MPI_Recv(all, 5, MPI_LONG, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%s, rank %d: from %ld %s, etype %s, file type %ld of %ld, 12 at %ld, pointer %ld\n", when, r,
               all[0], representation, combiner == MPI_COMBINER_NAMED ? "named" : "derived", all[3], all[4],
               all[1], all[2]);
    }
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&etype);
    MPI_Type_get_envelope(filetype, &numbers[0], &numbers[1], &numbers[2], &combiner);
    if (combiner != MPI_COMBINER_NAMED) MPI_Type_free(&filetype);
}

// Legal, since a nonblocking collective call may not wait for other ranks: each rank begins when the one
// before it has.
static void wait_in_turn(MPI_File file, int* values) {
    MPI_Request request;
    set_view(file, 64);  // one that the library may not have yet
    if (rank > 0) MPI_Recv(NULL, 0, MPI_INT, rank - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_File_iwrite_at_all(file, 16, values + 16, 4, MPI_INT, &request);
    if (rank + 1 < size) MPI_Send(NULL, 0, MPI_INT, rank + 1, 1, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_seek(file, 20, MPI_SEEK_SET);
}

int main(int argc, char** argv) {
    int values[num_values], back[num_values];
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    require(argc == 2, "views_program FILE");
    for (int i = 0; i < num_values; ++i) values[i] = 1000 * (rank + 1) + i;

    require(MPI_File_open(MPI_COMM_WORLD, "first-name", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                          &file) == MPI_SUCCESS,
            "open");
    MPI_File_write_at(file, (MPI_Offset)sizeof(int) * rank, values, 1, MPI_INT, MPI_STATUS_IGNORE);
    set_view(file, 64);
    MPI_File_write_all(file, values, 10, MPI_INT, MPI_STATUS_IGNORE);  // taken
    MPI_File_write(file, values + 10, 3, MPI_INT, MPI_STATUS_IGNORE);  // alone, where the taken call ended
    show(file, "after a write of one's own");
    MPI_File_write_all(file, values + 13, 2, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_seek(file, -1, MPI_SEEK_CUR);
    MPI_File_iwrite(file, values + 14, 2, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_iwrite_all(file, values + 16, 4, MPI_INT, &request);  // passes, all ranks together
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    wait_in_turn(file, values);
    MPI_File_sync(file);
    MPI_File_write_all(file, values + 20, 5, MPI_INT, MPI_STATUS_IGNORE);

    set_view(file, 64);
    MPI_File_seek(file, 25, MPI_SEEK_SET);
    MPI_File_write(file, values + 25, 2, MPI_INT, MPI_STATUS_IGNORE);
    require(MPI_File_set_view(file, 0, MPI_DATATYPE_NULL, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS,
            "a view without an elementary type");
    MPI_File_write(file, values + 27, 2, MPI_INT, MPI_STATUS_IGNORE);  // goes on where the pointer was
    show(file, "after a refused view");

    set_view(file, 64);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        require(rename("first-name", argv[1]) == 0, "rename");
        FILE* other = fopen("first-name", "w");
        require(other != NULL && fclose(other) == 0, "another file of the name");
    }
    MPI_Barrier(MPI_COMM_WORLD);
    // Coarse: every rank makes its own file access, some their first.
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    char* coarse = calloc(1, coarse_bytes);
    coarse[rank] = (char)('a' + rank);
    MPI_File_write_at_all(file, coarse_bytes * (rank + 1), coarse, coarse_bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    free(coarse);
    set_view(file, 64);
    if (rank == size - 1) {  // the others never make a call of their own in this view
        MPI_File_read_at(file, 2, back, 6, MPI_INT, MPI_STATUS_IGNORE);
        for (int i = 0; i < 6; ++i) require(back[i] == values[i + 2], "what was read");
        MPI_File_write_at(file, 25, values + 25, 5, MPI_INT, MPI_STATUS_IGNORE);
    }
    show(file, "after the renaming");
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    if (rank == 0) MPI_File_write_at(file, 60, "end", 4, MPI_BYTE, MPI_STATUS_IGNORE);
    show(file, "all bytes");

    set_view(file, 128);
    MPI_File_set_atomicity(file, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_read(file, back, 10, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_set_atomicity(file, 0);
    MPI_File_write_at_all(file, 40, back, 10, MPI_INT, MPI_STATUS_IGNORE);
    show(file, "after atomic mode");
    require(MPI_File_close(&file) == MPI_SUCCESS, "close");
    MPI_Finalize();
    return 0;
}
