// Hidden writes (docs/hidden.md), on storage that makes requests wait: each row of the page's table. A write
// returns, its bytes are on their way, and a call that must see them, or come behind them, does. Ends with
// status 1 where one does not, or where no write was hidden, in which case nothing was tested.
// Arguments: the file; "visible" where the program is expected to find nothing hidden.
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { piece = 4096, num_pieces = 192, block = piece * num_pieces };

static int rank, size, num_wrong, num_hidden, num_behind;
static const char* path;
static MPI_File file;
static MPI_Datatype every_rank;  // this rank's pieces between the others'
static unsigned char *mine, *found, *whole;

static unsigned char value(int of_rank, MPI_Offset at, int round) {
    return (unsigned char)((at * 31 + at / 4096 * 7 + of_rank * 57 + round * 101) % 251 + 1);
}

static void expect(int is_right, const char* cell, const char* what) {
    if (is_right) return;
    ++num_wrong;
    fprintf(stderr, "rank %d: %s: %s\n", rank, cell, what);
}

static void check(int error, const char* cell) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (error == MPI_SUCCESS) return;
    MPI_Error_string(error, text, &length);
    expect(0, cell, text);
}

// Whether `found` has the file's pieces of `of_rank`.
static int are_right(int of_rank, int round) {
    for (int i = 0; i < block; ++i)
        if (found[i] != value(of_rank, i, round)) return 0;
    return 1;
}

static MPI_Offset begin_of(int of_rank) {
    return (MPI_Offset)of_rank * piece;
}

static void view_of(int of_rank) {
    MPI_File_set_view(file, begin_of(of_rank), MPI_BYTE, every_rank, "native", MPI_INFO_NULL);
}

static void view_all(void) {
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
}

// This rank's bytes of a step by POSIX calls, which nobody waits for.
static int is_stored_at(int step, int round) {
    const size_t step_bytes = (size_t)size * block;
    const int fd = open(path, O_RDONLY);
    int is_right = fd >= 0 && pread(fd, whole, step_bytes, (off_t)(step * step_bytes)) == (ssize_t)step_bytes;
    for (int i = 0; is_right && i < block; ++i)
        is_right = whole[(i / piece * size + rank) * piece + i % piece] == value(rank, i, round);
    close(fd);
    return is_right;
}

static int is_stored(int round) {
    return is_stored_at(0, round);
}

// A new file of a collective write, whose bytes are on their way on return.
static void start(const char* cell, int round) {
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file), cell);
    view_of(rank);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, round);
    check(MPI_File_write_at_all(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    memset(mine, 0, block);  // the memory is the program's again
}

// The same, and counts it where it was not stored. A look at the bytes waits for its turn behind what is
// under way, one at the size does not.
static void begin(const char* cell, int round) {
    start(cell, round);
    struct stat known;
    const int has_size = stat(path, &known) == 0 && known.st_size >= (off_t)size * block;
    if (!has_size || !is_stored(round)) ++num_hidden;
}

static void end(const char* cell, int round, int is_compared) {
    check(MPI_File_close(&file), cell);
    if (is_compared) expect(is_stored(round), cell, "the file has other bytes");
}

static void reads(void) {
    const char* cell = "read of own bytes";
    begin(cell, 1);
    check(MPI_File_read_at(file, 0, found, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(are_right(rank, 1), cell, "other bytes");
    end(cell, 1, 1);

    cell = "read of another rank's bytes";
    begin(cell, 2);
    view_of((rank + 1) % size);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_read_at(file, 0, found, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(are_right((rank + 1) % size, 2), cell, "other bytes");
    end(cell, 2, 1);

    cell = "nonblocking read";
    begin(cell, 3);
    MPI_Request request;
    check(MPI_File_iread_at(file, 0, found, block, MPI_BYTE, &request), cell);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(are_right(rank, 3), cell, "other bytes");
    end(cell, 3, 1);

    cell = "collective read";
    begin(cell, 4);
    view_of((rank + 1) % size);
    check(MPI_File_read_all(file, found, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(are_right((rank + 1) % size, 4), cell, "other bytes");
    end(cell, 4, 1);

    cell = "nonblocking collective read";
    begin(cell, 5);
    check(MPI_File_iread_at_all(file, 0, found, block, MPI_BYTE, &request), cell);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    expect(are_right(rank, 5), cell, "other bytes");
    end(cell, 5, 1);

    cell = "split collective read";
    begin(cell, 6);
    check(MPI_File_read_at_all_begin(file, 0, found, block, MPI_BYTE), cell);
    check(MPI_File_read_at_all_end(file, found, MPI_STATUS_IGNORE), cell);
    expect(are_right(rank, 6), cell, "other bytes");
    end(cell, 6, 1);

    cell = "read by another handle";
    begin(cell, 7);
    MPI_File other;
    check(MPI_File_open(MPI_COMM_SELF, path, MPI_MODE_RDONLY, MPI_INFO_NULL, &other), cell);
    MPI_File_set_view(other, begin_of(rank), MPI_BYTE, every_rank, "native", MPI_INFO_NULL);
    check(MPI_File_read_at_all(other, 0, found, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(are_right(rank, 7), cell, "other bytes");
    MPI_File_close(&other);
    end(cell, 7, 1);

    cell = "read beyond the end so far";
    begin(cell, 8);
    view_all();
    MPI_Status status;
    int count = 0;
    check(MPI_File_read_at(file, (MPI_Offset)size * block - 10, found, 20, MPI_BYTE, &status), cell);
    MPI_Get_count(&status, MPI_BYTE, &count);
    expect(found[9] == value(size - 1, block - 1, 8), cell, "another last byte");
    end(cell, 8, 1);
}

static void sizes(void) {
    const char* cell = "size";
    MPI_Offset bytes = 0;
    begin(cell, 11);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == (MPI_Offset)size * block, cell, "another size");
    check(MPI_File_seek(file, 0, MPI_SEEK_END), cell);
    MPI_Offset position = 0;
    MPI_File_get_position(file, &position);
    expect(position == block || rank != 0, cell, "the end is elsewhere");
    end(cell, 11, 1);

    cell = "larger size";
    begin(cell, 12);
    check(MPI_File_set_size(file, (MPI_Offset)size * block + 1000), cell);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == (MPI_Offset)size * block + 1000, cell, "another size");
    end(cell, 12, 1);
    struct stat known;
    stat(path, &known);
    expect(known.st_size == (MPI_Offset)size * block + 1000, cell, "another size after the close");

    cell = "smaller size";
    begin(cell, 13);
    check(MPI_File_set_size(file, 1000), cell);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == 1000, cell, "another size");
    end(cell, 13, 0);
    stat(path, &known);
    expect(known.st_size == 1000, cell, "bytes came behind it");

    cell = "preallocate";
    begin(cell, 14);
    check(MPI_File_preallocate(file, (MPI_Offset)size * block + 5), cell);
    end(cell, 14, 1);
}

// A short write of each rank alone, which may go behind what is under way: all that must see it does.
static void write_beside(void) {
    const char* const cell = "independent write beside";
    const int next = (rank + 1) % size;
    const MPI_Offset end_of_data = (MPI_Offset)size * block;
    MPI_Offset bytes = 0;
    start(cell, 41);
    view_all();
    memset(mine, 'a' + rank, 64);
    check(MPI_File_write_at(file, end_of_data + rank * 64, mine, 64, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    struct stat known;
    stat(path, &known);
    if (known.st_size < end_of_data + rank * 64 + 64) ++num_behind;
    memset(mine, 0, 64);  // the memory is the program's again
    memset(found, 0, 64);
    check(MPI_File_read_at(file, end_of_data + rank * 64, found, 64, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(found[0] == 'a' + rank && found[63] == 'a' + rank, cell, "this rank reads other bytes");
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == end_of_data + (MPI_Offset)size * 64, cell, "another size");
    check(MPI_File_read_at(file, end_of_data + next * 64, found, 64, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(found[0] == 'a' + next && found[63] == 'a' + next, cell, "another rank reads other bytes");
    end(cell, 41, 1);
}

static void independent_writes(void) {
    const char* cell = "";
    const int next = (rank + 1) % size, last = (rank + size - 1) % size;
    const MPI_Offset end_of_data = (MPI_Offset)size * block;
    MPI_Offset bytes = 0;
    struct stat known;
    // A rank that loses its core comes when all is stored, and has nothing to go behind.
    for (int time = 0; time < 8; ++time) write_beside();

    cell = "size with another rank's write";
    start(cell, 42);
    view_all();
    if (rank == size - 1)
        check(MPI_File_write_at(file, end_of_data + 1000, mine, 24, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == end_of_data + 1024, cell, "another size");
    end(cell, 42, 1);

    cell = "independent writes over each other";
    start(cell, 43);
    view_all();
    for (int turn = 0; turn < size; ++turn) {
        for (int time = 0; time < 3; ++time) {
            memset(mine, 'A' + turn * 3 + time, 40);
            if (rank == turn)
                check(MPI_File_write_at(file, end_of_data + 20 * time, mine, 40, MPI_BYTE, MPI_STATUS_IGNORE),
                      cell);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    check(MPI_File_read_at(file, end_of_data, found, 80, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    for (int time = 0; time < 3; ++time)
        expect(found[20 * time] == 'A' + (size - 1) * 3 + time &&
                   found[20 * time + 19] == 'A' + (size - 1) * 3 + time,
               cell, "a write is missing, or too late");
    end(cell, 43, 1);

    cell = "collective write over independent ones";
    start(cell, 44);
    view_all();
    memset(mine, 'z', 500);
    check(MPI_File_write_at(file, end_of_data + last * 500, mine, 500, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(mine, 'k' + rank, 500);
    check(MPI_File_write_at_all(file, end_of_data + rank * 500, mine, 500, MPI_BYTE, MPI_STATUS_IGNORE),
          cell);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_read_at(file, end_of_data + next * 500, found, 500, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    expect(found[0] == 'k' + next && found[499] == 'k' + next, cell, "the independent write came behind it");
    end(cell, 44, 1);

    cell = "size cut behind independent writes";
    start(cell, 45);
    view_all();
    check(MPI_File_write_at(file, end_of_data + rank * 8, mine, 8, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_set_size(file, end_of_data), cell);
    check(MPI_File_get_size(file, &bytes), cell);
    expect(bytes == end_of_data, cell, "another size");
    end(cell, 45, 1);
    stat(path, &known);
    expect(known.st_size == end_of_data, cell, "bytes came behind it");

    cell = "independent write without a type";
    start(cell, 47);
    view_all();
    expect(MPI_File_write_at(file, end_of_data, mine, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE) != MPI_SUCCESS,
           cell, "it is no error");
    end(cell, 47, 1);

    cell = "independent write at the pointer";
    start(cell, 46);
    view_all();
    MPI_Status status;
    int count = 0;
    check(MPI_File_seek(file, end_of_data + rank * 100, MPI_SEEK_SET), cell);
    for (int part = 0; part < 2; ++part) {
        memset(mine, '1' + part, 50);
        check(MPI_File_write(file, mine, 50, MPI_BYTE, &status), cell);
        MPI_Get_count(&status, MPI_BYTE, &count);
        expect(count == 50, cell, "another count");
    }
    MPI_Offset position = 0;
    MPI_File_get_position(file, &position);
    expect(position == end_of_data + rank * 100 + 100, cell, "another position");
    check(MPI_File_sync(file), cell);
    MPI_Barrier(MPI_COMM_WORLD);
    const int after = open(path, O_RDONLY);
    expect(pread(after, found, 100, end_of_data + next * 100) == 100 && found[0] == '1' && found[99] == '2',
           cell, "it is not there after a sync");
    close(after);
    end(cell, 46, 1);
}

static void order(void) {
    const char* cell = "independent write over own bytes";
    begin(cell, 21);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, 22);
    check(MPI_File_write_at(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    end(cell, 22, 1);

    cell = "independent write over another rank's bytes";
    begin(cell, 23);
    const int next = (rank + 1) % size;
    view_of(next);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < block; ++i) mine[i] = value(next, i, 24);
    check(MPI_File_write_at(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    end(cell, 24, 1);

    independent_writes();

    cell = "collective write over the same bytes";
    begin(cell, 26);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, 27);
    check(MPI_File_write_at_all(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    end(cell, 27, 1);

    cell = "nonblocking write over the same bytes";
    begin(cell, 28);
    MPI_Request request;
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, 29);
    check(MPI_File_iwrite_at_all(file, 0, mine, block, MPI_BYTE, &request), cell);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    end(cell, 29, 1);

    cell = "part of the bytes, then others";
    begin(cell, 30);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, 31);
    check(MPI_File_write_all(file, mine, block / 2, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    check(MPI_File_write_all(file, mine + block / 2, block / 2, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    MPI_Offset position = 0;
    MPI_File_get_position(file, &position);
    expect(position == block, cell, "another position");
    end(cell, 31, 1);

    cell = "atomic mode";
    begin(cell, 32);
    check(MPI_File_set_atomicity(file, 1), cell);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, 33);
    check(MPI_File_write_at_all(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    check(MPI_File_set_atomicity(file, 0), cell);
    end(cell, 33, 1);

    cell = "ordered write";
    begin(cell, 34);
    view_all();
    memset(mine, 'o', 100);
    check(MPI_File_seek_shared(file, (MPI_Offset)size * block, MPI_SEEK_SET), cell);
    check(MPI_File_write_ordered(file, mine, 100, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    end(cell, 34, 1);

    cell = "sync";
    begin(cell, 35);
    check(MPI_File_sync(file), cell);
    MPI_Barrier(MPI_COMM_WORLD);
    expect(is_stored(35), cell, "bytes are missing");
    end(cell, 35, 1);
}

// Many steps into one open file, and one that begins before the last is stored.
static void steps(void) {
    const char* const cell = "steps";
    enum { num_steps = 6 };
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) unlink(path);
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file), cell);
    for (int step = 0; step < num_steps; ++step) {
        MPI_File_set_view(file, (MPI_Offset)step * size * block + begin_of(rank), MPI_BYTE, every_rank,
                          "native", MPI_INFO_NULL);
        for (int i = 0; i < block; ++i) mine[i] = value(rank, i, step);
        check(MPI_File_write_all(file, mine, block, MPI_BYTE, MPI_STATUS_IGNORE), cell);
    }
    check(MPI_File_close(&file), cell);
    for (int step = 0; step < num_steps; ++step) expect(is_stored_at(step, step), cell, "other bytes");
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    path = argv[1];
    mine = malloc(block);
    found = malloc(block + 64);
    whole = malloc((size_t)size * block);
    MPI_Datatype one;
    MPI_Type_contiguous(piece, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)size * piece, &every_rank);
    MPI_Type_commit(&every_rank);
    MPI_Type_free(&one);
    reads();
    sizes();
    order();
    steps();
    MPI_Type_free(&every_rank);
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &num_hidden, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(MPI_IN_PLACE, &num_behind, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(path);
        printf("%d collective and %d independent writes were under way when they returned\n", num_hidden,
               num_behind);
    }
    const int is_expected = argc == 2;
    const int is_right = num_wrong == 0 && (num_hidden > 0) == is_expected && (num_behind > 0) == is_expected;
    MPI_Finalize();
    return !is_right;
}
