// Errors of one MPI library or the other alone that the drop-in mends. Says what is wrong and ends with
// status 1. Argument "shared": also the shared file pointer.
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/capability.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int rank, size, num_wrong;

static void expect(int holds, const char* what, long long value) {
    if (holds) return;
    ++num_wrong;
    fprintf(stderr, "rank %d: %s: %lld\n", rank, what, value);
}

static int class_of(int error) {
    int error_class = MPI_SUCCESS;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
    return error_class;
}

static void expect_success(int error, const char* what) {
    expect(error == MPI_SUCCESS, what, class_of(error));
}

// A new file of `num` ints, 1000, 1001, …
static MPI_File make(const char* name, int num) {
    int values[256];
    MPI_File file;
    for (int i = 0; i < num; ++i) values[i] = 1000 + i;
    if (rank == 0) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    expect_success(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
                   "open");
    expect_success(MPI_File_write_at_all(file, 0, values, rank == 0 ? num : 0, MPI_INT, MPI_STATUS_IGNORE),
                   "write_at_all");
    MPI_Barrier(MPI_COMM_WORLD);
    return file;
}

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint lower_bound, MPI_Aint extent) {
    MPI_Datatype made;
    MPI_Type_create_resized(type, lower_bound, extent, &made);
    MPI_Type_commit(&made);
    return made;
}

// OMPIO forgets the holes of the view, and what is appended lands on data.
static void seek_to_end(int is_shared) {
    MPI_File file = make("end.dat", 10);
    MPI_Datatype one_of_three = resized(MPI_INT, 0, 12);
    const MPI_Offset sizes[] = {40, 38, 36, 35, 12, 3, 0}, ends[] = {4, 4, 3, 3, 1, 1, 0};
    for (int i = 0; i < 7; ++i) {
        MPI_Offset position = -1;
        MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        MPI_File_set_size(file, sizes[i]);
        MPI_File_set_view(file, 0, MPI_INT, one_of_three, "native", MPI_INFO_NULL);
        MPI_File_seek(file, 2, MPI_SEEK_END);
        MPI_File_get_position(file, &position);
        expect(position == ends[i] + 2, "position after a seek from the end", position);
        if (is_shared) {
            MPI_File_seek_shared(file, 1, MPI_SEEK_END);
            MPI_File_get_position_shared(file, &position);
            expect(position == ends[i] + 1, "shared position after a seek from the end", position);
        }
    }
    MPI_File_set_view(file, 400, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_Offset position = -1;
    expect_success(MPI_File_seek(file, 0, MPI_SEEK_END), "a view from beyond the end");
    MPI_File_get_position(file, &position);
    expect(position == 0, "its position", position);
    MPI_File_close(&file);
    MPI_Type_free(&one_of_three);
}

// Both may return success, and MPICH may never return.
static void ask_against_the_mode(int is_shared) {
    MPI_File file = make("mode.dat", 10);
    MPI_Request request = MPI_REQUEST_NULL;
    int values[4] = {0};
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, "mode.dat", MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
#define REFUSED(call, its_class) expect(class_of(call) == its_class, #call, -1)
    REFUSED(MPI_File_read_at(file, 0, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    REFUSED(MPI_File_read_all(file, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
    REFUSED(MPI_File_read_all_begin(file, values, 4, MPI_INT), MPI_ERR_ACCESS);
    REFUSED(MPI_File_iread(file, values, 4, MPI_INT, &request), MPI_ERR_ACCESS);
    REFUSED(MPI_File_iread_at_all(file, 0, values, 4, MPI_INT, &request), MPI_ERR_ACCESS);
    if (is_shared) {
        REFUSED(MPI_File_read_shared(file, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
        REFUSED(MPI_File_read_ordered(file, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
        REFUSED(MPI_File_iread_shared(file, values, 4, MPI_INT, &request), MPI_ERR_ACCESS);
    }
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, "mode.dat", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    REFUSED(MPI_File_write_at(file, 0, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    REFUSED(MPI_File_write_at_all(file, 0, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
    REFUSED(MPI_File_write_at_all_begin(file, 0, values, 4, MPI_INT), MPI_ERR_READ_ONLY);
    REFUSED(MPI_File_iwrite_at(file, 0, values, 4, MPI_INT, &request), MPI_ERR_READ_ONLY);
    REFUSED(MPI_File_iwrite_all(file, values, 4, MPI_INT, &request), MPI_ERR_READ_ONLY);
    if (is_shared) {
        REFUSED(MPI_File_write_shared(file, values, 4, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
        REFUSED(MPI_File_write_ordered_begin(file, values, 4, MPI_INT), MPI_ERR_READ_ONLY);
        REFUSED(MPI_File_iwrite_shared(file, values, 4, MPI_INT, &request), MPI_ERR_READ_ONLY);
    }
    MPI_File_close(&file);
}

// OMPIO's request never completes, and Open MPI's ROMIO has no nonblocking collectives: a null pointer is
// called.
static void read_across_the_end(int is_shared) {
    MPI_File file = make("across.dat", 10);
    for (int kind = 0; kind < (is_shared ? 5 : 4); ++kind) {
        for (int is_beyond = 0; is_beyond < 2; ++is_beyond) {
            int values[8] = {0}, count = -1;
            const MPI_Offset at = is_beyond ? 20 : 7;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Status status;
            MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
            MPI_File_seek(file, at, MPI_SEEK_SET);
            if (is_shared) MPI_File_seek_shared(file, at, MPI_SEEK_SET);
            const int error = kind == 0   ? MPI_File_iread_at(file, at, values, 8, MPI_INT, &request)
                              : kind == 1 ? MPI_File_iread(file, values, 8, MPI_INT, &request)
                              : kind == 2 ? MPI_File_iread_at_all(file, at, values, 8, MPI_INT, &request)
                              : kind == 3 ? MPI_File_iread_all(file, values, 8, MPI_INT, &request)
                                          : MPI_File_iread_shared(file, values, 8, MPI_INT, &request);
            expect_success(error, "a nonblocking read");
            MPI_Wait(&request, &status);
            MPI_Get_count(&status, MPI_INT, &count);
            // At the shared pointer one rank reads what is there, whichever. MPICH's own collective calls say
            // that all is.
            if (kind < (is_shared ? 2 : 4)) {
                expect(count == (is_beyond ? 0 : 3), "ints read", count);
                expect(values[0] == (is_beyond ? 0 : 1007), "the first", values[0]);
            }
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    MPI_File_close(&file);
}

// OMPIO refuses names of one letter, and overwrites its memory by long ones.
static void use_names(void) {
    char name[400];
    memset(name, 'd', sizeof name);
    name[150] = '\0';
    mkdir(name, 0777);
    memset(name + 150, 'f', 150);
    name[150] = '/';
    name[300] = '\0';
    const char* const names[] = {"x", name};
    for (int i = 0; i < 2; ++i) {
        MPI_File file = make(names[i], 4);
        int value = 0;
        struct stat found = {0};
        expect_success(MPI_File_read_at(file, 3, &value, 1, MPI_BYTE, MPI_STATUS_IGNORE), "read_at");
        expect_success(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), "set_view");
        expect_success(MPI_File_read_at(file, 3, &value, 1, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        expect(value == 1003, "value", value);
        expect_success(MPI_File_close(&file), "close");
        expect(stat(names[i], &found) == 0 && found.st_size == 16, "size", found.st_size);
    }
}

// OMPIO divides by the size of the elementary type.
static void view_of_nothing(void) {
    MPI_File file = make("empty.dat", 8);
    MPI_Datatype nothing;
    MPI_Type_contiguous(0, MPI_INT, &nothing);
    MPI_Type_commit(&nothing);
    const MPI_Datatype etypes[] = {MPI_INT, nothing};
    for (int i = 0; i < 2; ++i) {
        int value = 7;
        const MPI_Datatype tile = rank == 0 || i == 1 ? nothing : MPI_INT;
        expect_success(MPI_File_set_view(file, 0, etypes[i], tile, "native", MPI_INFO_NULL), "an empty view");
        const int count = rank == 0 || i == 1 ? 0 : 1;
        expect_success(MPI_File_read_at_all(file, 0, &value, count, MPI_INT, MPI_STATUS_IGNORE),
                       "read_at_all");
        expect(value == (count == 0 ? 7 : 1000), "value", value);
        expect_success(MPI_File_read_at(file, 0, &value, 0, MPI_INT, MPI_STATUS_IGNORE), "read_at");
    }
    MPI_File_close(&file);
    MPI_Type_free(&nothing);
}

// ROMIO moves what was resized to a lower bound by that bound.
static void views_with_lower_bounds(void) {
    MPI_File file = make("bounds.dat", 200);
    const int lengths[] = {1, 2}, places[] = {1, 3};  // of an extent of 6 ints
    MPI_Datatype pieces, within, views[5];
    MPI_Type_indexed(2, lengths, places, MPI_INT, &pieces);
    views[0] = resized(pieces, 4, 24);
    views[1] = resized(pieces, -8, 24);
    within = resized(pieces, 4, 24);
    MPI_Type_contiguous(2, within, &views[2]);
    MPI_Type_commit(&views[2]);
    views[3] = resized(views[2], 12, 48);
    views[4] = resized(views[0], 8, 24);
    for (int v = 0; v < 5; ++v) {
        int together[9] = {0}, alone[9] = {0}, next = 0, is_same = 0;
        MPI_Offset byte = -1, displacement = -1;
        MPI_Aint lower_bound = 0, extent = 0, its_lower_bound = 0, its_extent = 0;
        MPI_Datatype etype, filetype;
        char representation[MPI_MAX_DATAREP_STRING] = "";
        expect_success(MPI_File_set_view(file, 40, MPI_INT, views[v], "native", MPI_INFO_NULL), "set_view");
        expect_success(MPI_File_read_at_all(file, 0, together, 9, MPI_INT, MPI_STATUS_IGNORE), "read_at_all");
        expect_success(MPI_File_read_at(file, 0, alone, 9, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        MPI_File_seek(file, 4, MPI_SEEK_SET);
        expect_success(MPI_File_read(file, &next, 1, MPI_INT, MPI_STATUS_IGNORE), "read");
        MPI_File_get_byte_offset(file, 5, &byte);
        for (int i = 0; i < 9; ++i) {
            const int value = 1010 + 6 * (i / 3) + (int[]){1, 3, 4}[i % 3];
            expect(together[i] == value, "value read together", together[i]);
            expect(alone[i] == value, "value read alone", alone[i]);
        }
        expect(next == 1019, "value read at the pointer", next);
        expect(byte == 80, "byte offset", byte);
        expect_success(MPI_File_get_view(file, &displacement, &etype, &filetype, representation), "get_view");
        MPI_Type_get_extent(filetype, &lower_bound, &extent);
        MPI_Type_get_extent(views[v], &its_lower_bound, &its_extent);
        is_same =
            lower_bound == its_lower_bound && extent == its_extent && strcmp(representation, "native") == 0;
        expect(displacement == 40 && etype == MPI_INT && is_same, "the view that get_view names", v);
        MPI_Type_free(&filetype);
    }
    MPI_File_close(&file);
    for (int v = 0; v < 5; ++v) MPI_Type_free(&views[v]);
    MPI_Type_free(&within);
    MPI_Type_free(&pieces);
}

// ROMIO's flatten.c puts all subarrays of an indexed type but the first one where they are not.
static void views_of_several_subarrays(void) {
    const int extents[] = {4, 4}, counts[] = {2, 2}, start[] = {1, 1}, one[] = {1, 1}, in_order[] = {0, 1};
    const MPI_Aint at[] = {0, 64};
    MPI_Datatype block, views[2];
    MPI_Type_create_subarray(2, extents, counts, start, MPI_ORDER_C, MPI_INT, &block);
    MPI_Type_create_hindexed(2, one, at, block, &views[0]);
    MPI_Type_indexed(2, one, in_order, block, &views[1]);
    const int places[] = {5, 6, 9, 10, 21, 22, 25, 26};  // in ints
    for (int kind = 0; kind < 2; ++kind) {
        MPI_File file = make("subarrays.dat", 0);
        int values[8], found[32];
        MPI_Type_commit(&views[kind]);
        for (int i = 0; i < 8; ++i) values[i] = 100 * rank + i;
        expect_success(MPI_File_set_view(file, 128 * rank, MPI_INT, views[kind], "native", MPI_INFO_NULL),
                       "a view of several subarrays");
        expect_success(MPI_File_write_all(file, values, 8, MPI_INT, MPI_STATUS_IGNORE), "write_all in it");
        MPI_File_sync(file);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
        memset(found, 0, sizeof found);
        MPI_File_read_at(file, 128 * rank, found, sizeof found, MPI_BYTE, MPI_STATUS_IGNORE);
        for (int i = 0; i < 8; ++i)
            expect(found[places[i]] == values[i], "a value behind several subarrays", found[places[i]]);
        MPI_File_close(&file);
        MPI_Type_free(&views[kind]);
    }
    MPI_Type_free(&block);
}

// From now on this thread, and those that it starts, open files as their modes say, also where the user is
// root.
static void obey_modes(void) {
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[2];
    syscall(SYS_capget, &header, sets);
    sets[0].effective &= ~(1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH);
    syscall(SYS_capset, &header, sets);
}

// The holes of a collective write cannot be read where the file may only be written.
static void write_around_holes_without_reading(void) {
    enum { num = 64 };
    int values[num], found[num * 8] = {0};
    MPI_File file;
    MPI_Datatype one_of_all = resized(MPI_INT, 0, 4 * (size + 1));
    for (int i = 0; i < num; ++i) values[i] = 1000 * (rank + 1) + i;
    if (rank == 0) close(open("writable.dat", O_CREAT | O_WRONLY, 0200));
    MPI_Barrier(MPI_COMM_WORLD);
    expect_success(MPI_File_open(MPI_COMM_WORLD, "writable.dat", MPI_MODE_WRONLY, MPI_INFO_NULL, &file),
                   "open");
    MPI_File_set_view(file, 4 * rank, MPI_INT, one_of_all, "native", MPI_INFO_NULL);
    expect_success(MPI_File_write_all(file, values, num, MPI_INT, MPI_STATUS_IGNORE), "write_all");
    expect_success(MPI_File_preallocate(file, 1), "preallocate");
    expect_success(MPI_File_set_size(file, 4 * num * (size + 1)), "set_size");
    MPI_File_close(&file);
    MPI_Type_free(&one_of_all);
    if (rank != 0) return;
    chmod("writable.dat", 0600);
    FILE* const stream = fopen("writable.dat", "rb");
    expect(stream != NULL && fread(found, 4 * (size + 1), num, stream) >= num - 1, "reading it", 0);
    for (int i = 0; i < num * (size + 1); ++i) {
        const int of_rank = i % (size + 1),
                  value = of_rank < size ? 1000 * (of_rank + 1) + i / (size + 1) : 0;
        expect(found[i] == value, "value between holes", found[i]);
    }
    if (stream != NULL) fclose(stream);
}

static int num_handled;

static void handle(MPI_File* file, int* error, ...) {
    (void)file;
    (void)error;
    ++num_handled;
}

// MPICH counts no use of the default handler by an open file, and one less when that is closed: the handler
// is freed while it is the default, and the next error ends the program.
static void use_a_default_handler(void) {
    MPI_Errhandler handler;
    MPI_File_create_errhandler(handle, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    MPI_Errhandler_free(&handler);
    for (int i = 0; i < 4; ++i) {
        MPI_File file = make("handled.dat", 4);
        int value = 0;
        num_handled = 0;
        MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
        expect_success(MPI_File_read_at(file, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), "read_at");
        MPI_File_seek(file, -1, MPI_SEEK_SET);
        expect(num_handled == 1, "calls of the default handler, error of one rank", num_handled);
        MPI_File_read_at_all(file, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE);
        expect(num_handled == 2, "calls of the default handler, error of all", num_handled);
        MPI_File_close(&file);
    }
    MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN);
}

// Arguments that the library refuses, or that Open MPI does: a null pointer for MPI's answer.
static void ask_for_nothing(void) {
    MPI_File file = make("nothing.dat", 4);
    expect(class_of(MPI_File_set_view(file, 0, MPI_INT, MPI_INT, NULL, MPI_INFO_NULL)) ==
               MPI_ERR_UNSUPPORTED_DATAREP,
           "a view without a representation", 0);
#ifdef OPEN_MPI
    int values[4] = {0};
    REFUSED(MPI_File_set_info(file, MPI_INFO_NULL), MPI_ERR_INFO);
    REFUSED(MPI_File_get_size(file, NULL), MPI_ERR_ARG);
    REFUSED(MPI_File_get_amode(file, NULL), MPI_ERR_ARG);
    REFUSED(MPI_File_get_atomicity(file, NULL), MPI_ERR_ARG);
    REFUSED(MPI_File_get_position_shared(file, NULL), MPI_ERR_ARG);
    REFUSED(MPI_File_iread_at_all(file, 0, values, 4, MPI_INT, NULL), MPI_ERR_REQUEST);
    REFUSED(MPI_File_iwrite_all(file, values, 4, MPI_INT, NULL), MPI_ERR_REQUEST);
#endif
    MPI_File_close(&file);
}

// Calls that change or look at the file as a whole come behind the collective calls before them, also on
// ranks that have not come to these yet. OMPIO's preallocate reads what is there and writes it back.
static void change_the_whole(void) {
    enum { piece = 4000 };
    static char bytes[piece];
    for (int is_size = 0; is_size < 2; ++is_size) {
        MPI_File file = make("whole.dat", 0);
        MPI_Offset there = -1;
        for (int i = 0; i < 6; ++i)  // from some call on ranks do not wait for each other
            MPI_File_write_at_all(file, piece * rank, bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == size - 1 && rank > 0) {
            usleep(200000);
            MPI_File_get_size(file, &there);
            expect(there <= piece * (size + rank), "size before this rank's call", there);
        }
        MPI_File_write_at_all(file, piece * (size + rank), bytes, piece, MPI_BYTE, MPI_STATUS_IGNORE);
        if (is_size) {
            MPI_File_get_size(file, &there);
            expect(there == 2 * piece * size, "size behind all ranks' calls", there);
        } else {
            MPI_File_preallocate(file, 10 * piece * size);
        }
        MPI_File_close(&file);
    }
}

// OMPIO overwrites what lies behind the first 32 MiB of a file that grows.
static void preallocate_behind_data(void) {
    MPI_File file = make("preallocated.dat", 4);
    const MPI_Offset at = 33 << 20;
    MPI_Offset there = -1;
    int value = 0;
    MPI_File_write_at_all(file, at, "data", rank == 0 ? 4 : 0, MPI_BYTE, MPI_STATUS_IGNORE);
    expect_success(MPI_File_preallocate(file, 1), "preallocate less than there is");
    MPI_File_get_size(file, &there);
    expect(there == at + 4, "size behind that", there);
    expect_success(MPI_File_preallocate(file, at + 5000), "preallocate");
    MPI_File_get_size(file, &there);
    expect(there == at + 5000, "size behind preallocate", there);
    MPI_File_read_at_all(file, at, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(memcmp(&value, "data", 4) == 0, "data that preallocate finds", value);
    MPI_File_read_at_all(file, at + 2000, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE);
    expect(value == 0, "zeros behind the data", value);
    REFUSED(MPI_File_preallocate(file, -1), MPI_ERR_ARG);
    MPI_File_close(&file);
}

// A new view resets the shared pointer.
static void reset_the_shared_pointer(void) {
    MPI_File file = make("shared.dat", 4);
    int value = rank;
    MPI_Offset position = -1;
    expect_success(MPI_File_write_ordered(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE), "write_ordered");
    MPI_File_set_view(file, 4, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_get_position_shared(file, &position);
    expect(position == 0, "shared position in a new view", position);
    MPI_File_close(&file);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char folder[] = "/tmp/hakobi-mended-XXXXXX";
    if (rank == 0 && mkdtemp(folder) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (chdir(folder) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
    const int is_shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    seek_to_end(is_shared);
    ask_against_the_mode(is_shared);
    read_across_the_end(is_shared);
    use_names();
    view_of_nothing();
    views_with_lower_bounds();
    views_of_several_subarrays();
    use_a_default_handler();
    ask_for_nothing();
    change_the_whole();
    preallocate_behind_data();
    reset_the_shared_pointer();
    obey_modes();
    if (!is_shared)
        write_around_holes_without_reading();  // else OMPIO opens the file, which wants to read it
    MPI_Barrier(MPI_COMM_WORLD);
    char remove[100];
    snprintf(remove, sizeof remove, "rm -rf %s", folder);
    if (rank == 0 && system(remove) != 0) ++num_wrong;
    MPI_Allreduce(MPI_IN_PLACE, &num_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return num_wrong != 0;
}
