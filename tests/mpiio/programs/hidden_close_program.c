// A file a step, each opened, written and closed, with hidden close (docs/hidden.md) on storage that makes
// requests wait. Arguments: a folder, and what happens to the files then:
//
//   steps     eleven files, more than may be under way; some are renamed, removed, copied by a child process,
//             read by other ranks, written again right after the close; all is whole after MPI_Finalize.
//             Further arguments: behind, a short write of one rank follows in each file, as below; unchecked,
//             status 0 whatever the program finds wrong; a number, all ranks are killed that many microseconds
//             after MPI_Init. Rank 0 prints what it is about to do with a file's name, and what it has done
//   finalize  one file, and MPI_Finalize
//   exit      the process exits without MPI_Finalize
//   kill      it is killed
//   behind    as finalize, with a short write of rank 1 (or 0) alone behind the others
//   again     the file is closed, and opened again: prints the class of the error on each rank
//   alone     the same, and in between each rank opens it by itself
//   write     the same of a file that stays open: a write, and a call that must tell, which the next argument
//             names (write, sync, close, finalize); with a fourth argument a short write follows the first,
//             as above
//
// Ends with status 1 where a file is not as it should be.
#include <fcntl.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { piece = 4096, num_pieces = 256, block = piece * num_pieces, num_steps = 11, num_behind = 64 };

static int rank, size, num_wrong, num_hidden, num_called;
static const char* folder;
static MPI_Datatype every_rank;
static unsigned char *mine, *whole;

static unsigned char value(int of_rank, int at, int round) {
    return (unsigned char)((at * 31 + at / 4096 * 7 + of_rank * 57 + round * 101) % 251 + 1);
}

static void expect(int is_right, const char* what, int step) {
    if (is_right) return;
    ++num_wrong;
    fprintf(stderr, "rank %d: step %d: %s\n", rank, step, what);
}

static const char* name_of(int step, const char* suffix) {
    static char name[2][1024];
    static int which;
    which = !which;
    snprintf(name[which], sizeof name[which], "%s/step_%d%s", folder, step, suffix);
    return name[which];
}

static int is_behind;  // a short write follows each other one

static int is_whole(const char* name, int round) {
    const int fd = open(name, O_RDONLY);
    int is_right = fd >= 0 && pread(fd, whole, (size_t)size * block, 0) == (ssize_t)size * block;
    for (int r = 0; is_right && r < size; ++r)
        for (int i = 0; is_right && i < block; ++i)
            is_right = whole[(i / piece * size + r) * piece + i % piece] == value(r, i, round);
    unsigned char behind[num_behind];
    if (is_right && is_behind) {
        is_right = pread(fd, behind, num_behind, (off_t)size * block) == num_behind;
        for (int i = 0; is_right && i < num_behind; ++i) is_right = behind[i] == 'b';
    }
    if (fd >= 0) close(fd);
    return is_right;
}

static void called(MPI_File* file, int* error, ...) {
    (void)file;
    (void)error;
    ++num_called;
}

static int write_to(MPI_File file, int round) {
    MPI_File_set_view(file, (MPI_Offset)rank * piece, MPI_BYTE, every_rank, "native", MPI_INFO_NULL);
    for (int i = 0; i < block; ++i) mine[i] = value(rank, i, round);
    const int error = MPI_File_write_at_all(file, 0, mine, block, MPI_BYTE, MPI_STATUS_IGNORE);
    memset(mine, 0, block);
    return error;
}

// A short write of one rank alone, behind all others.
static int write_behind(MPI_File file) {
    unsigned char bytes[num_behind];
    memset(bytes, 'b', sizeof bytes);
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    if (rank != (size > 1)) return MPI_SUCCESS;
    return MPI_File_write_at(file, (MPI_Offset)size * block, bytes, sizeof bytes, MPI_BYTE,
                             MPI_STATUS_IGNORE);
}

// For who looks at the files after a kill.
static void say(const char* what, int step, int round) {
    if (rank != 0) return;
    printf("%s %d %d\n", what, step, round);
    fflush(stdout);
}

static void write_step(int step, int round) {
    MPI_File file;
    say("writes", step, round);
    expect(MPI_File_open(MPI_COMM_WORLD, name_of(step, ""), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &file) == MPI_SUCCESS,
           "open", step);
    expect(write_to(file, round) == MPI_SUCCESS, "write", step);
    if (is_behind) expect(write_behind(file) == MPI_SUCCESS, "write behind", step);
    expect(MPI_File_close(&file) == MPI_SUCCESS, "close", step);
    say("closed", step, round);
    struct stat known;
    if (rank == 0 && stat(name_of(step, ".hakobi-pending"), &known) == 0) {
        ++num_hidden;
    } else if (rank == 0) {
        expect(is_whole(name_of(step, ""), round), "it is closed, and nothing says that it is not whole",
               step);
    }
}

static void read_step(int step, int round) {
    MPI_File file;
    if (MPI_File_open(MPI_COMM_SELF, name_of(step, ""), MPI_MODE_RDONLY, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS) {
        expect(0, "open to read", step);
        return;
    }
    expect(MPI_File_read_at(file, 0, whole, size * block, MPI_BYTE, MPI_STATUS_IGNORE) == MPI_SUCCESS, "read",
           step);
    int is_right = 1;
    for (int r = 0; is_right && r < size; ++r)
        for (int i = 0; is_right && i < block; ++i)
            is_right = whole[(i / piece * size + r) * piece + i % piece] == value(r, i, round);
    expect(is_right, "another group of ranks reads other bytes", step);
    MPI_File_close(&file);
}

static void steps(void) {
    for (int step = 0; step < num_steps; ++step) {
        write_step(step, step);
        MPI_Barrier(MPI_COMM_WORLD);
        if (step == 3 || step == 8) say("removes", step, step);
        if (step == 2 && rank == 0) rename(name_of(step, ""), name_of(step, ".renamed"));
        if (step == 3 && rank == 0) unlink(name_of(step, ""));
        if (step == 4) read_step(step, step);
        if (step == 5 && rank == size - 1) read_step(step, step);
        if (step == 6) write_step(step, 100);
        if (step == 7 && rank == 0) {
            char command[3000];
            snprintf(command, sizeof command, "cp %s %s", name_of(step, ""), name_of(step, ".copy"));
            expect(system(command) == 0, "cp", step);
            expect(is_whole(name_of(step, ".copy"), step), "a child has copied other bytes", step);
        }
        if (step == 8) {
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == 0) MPI_File_delete(name_of(step, ""), MPI_INFO_NULL);
            MPI_Barrier(MPI_COMM_WORLD);
            write_step(step, 108);
        }
    }
}

static void check_steps(void) {
    for (int step = 0; step < num_steps; ++step) {
        const int round = step == 6 ? 100 : step == 8 ? 108 : step;
        const char* const name = name_of(step, step == 2 ? ".renamed" : "");
        struct stat known;
        if (step == 3) {
            expect(stat(name, &known) != 0, "a removed file is back", step);
        } else {
            expect(is_whole(name, round), "it is not whole after MPI_Finalize", step);
        }
        expect(stat(name_of(step, ".hakobi-pending"), &known) != 0, "whole, and a file says that it is not",
               step);
    }
}

static void kill_after(long microseconds) {
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGKILL;
    timer_t timer;
    const struct itimerspec at = {
        .it_value = {.tv_sec = microseconds / 1000000, .tv_nsec = microseconds % 1000000 * 1000 + 1}};
    expect(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0 && timer_settime(timer, 0, &at, NULL) == 0,
           "no timer", 0);
}

static void show(const char* what, int error) {
    int error_class = MPI_SUCCESS, classes[64], calls[64];
    if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
    MPI_Gather(&error_class, 1, MPI_INT, classes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Gather(&num_called, 1, MPI_INT, calls, 1, MPI_INT, 0, MPI_COMM_WORLD);
    num_called = 0;
    if (rank != 0) return;
    printf("%s:", what);
    for (int r = 0; r < size; ++r)
        printf(" %s/%d",
               classes[r] == MPI_SUCCESS        ? "success"
               : classes[r] == MPI_ERR_NO_SPACE ? "NO_SPACE"
               : classes[r] == MPI_ERR_IO       ? "IO"
                                                : "another",
               calls[r]);
    printf("\n");
    fflush(stdout);
}

static void again(int is_alone) {
    MPI_File file;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(called, &handler);
    MPI_File_set_errhandler(MPI_FILE_NULL, handler);
    for (int time = 0; time < 3; ++time) {
        const int error = MPI_File_open(MPI_COMM_WORLD, name_of(0, ""), MPI_MODE_CREATE | MPI_MODE_RDWR,
                                        MPI_INFO_NULL, &file);
        show("open", error);
        if (error != MPI_SUCCESS) continue;
        show("write", write_to(file, 0));
        show("close", MPI_File_close(&file));
        for (int alone = 0; is_alone && time == 0 && alone < 2; ++alone) {
            const int told =
                MPI_File_open(MPI_COMM_SELF, name_of(0, ""), MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
            if (told == MPI_SUCCESS) MPI_File_close(&file);
            show(alone == 0 ? "open alone" : "second open alone", told);
        }
    }
    MPI_Errhandler_free(&handler);
}

static void open_file(const char* then) {
    MPI_File file;
    MPI_Errhandler handler;
    MPI_File_create_errhandler(called, &handler);
    MPI_File_open(MPI_COMM_WORLD, name_of(0, ""), MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_errhandler(file, handler);
    show("write", write_to(file, 0));
    if (is_behind) show("write behind", write_behind(file));
    if (strcmp(then, "write") == 0) {
        usleep(700000);  // it is stored, or not
        MPI_Barrier(MPI_COMM_WORLD);
        show("second write", write_to(file, 0));
        show("third write", write_to(file, 0));
    }
    if (strcmp(then, "sync") == 0) show("sync", MPI_File_sync(file));
    if (strcmp(then, "finalize") != 0) show("close", MPI_File_close(&file));
    MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3) MPI_Abort(MPI_COMM_WORLD, 2);
    folder = argv[1];
    const char* const what = argv[2];
    mine = malloc(block);
    whole = malloc((size_t)size * block);
    MPI_Datatype one;
    MPI_Type_contiguous(piece, MPI_BYTE, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)size * piece, &every_rank);
    MPI_Type_commit(&every_rank);
    MPI_Type_free(&one);
    int is_checked = 1;
    is_behind = strcmp(what, "behind") == 0 || (strcmp(what, "write") == 0 && argc > 4);
    for (int i = 3; strcmp(what, "steps") == 0 && i < argc; ++i) {
        if (strcmp(argv[i], "behind") == 0) is_behind = 1;
        if (strcmp(argv[i], "unchecked") == 0) is_checked = 0;
        if (atol(argv[i]) > 0) kill_after(atol(argv[i]));
    }
    if (strcmp(what, "steps") == 0) steps();
    if (strcmp(what, "again") == 0 || strcmp(what, "alone") == 0) again(strcmp(what, "alone") == 0);
    if (strcmp(what, "write") == 0) open_file(argv[3]);
    if (strcmp(what, "finalize") == 0 || strcmp(what, "exit") == 0 || strcmp(what, "kill") == 0 ||
        strcmp(what, "behind") == 0)
        write_step(0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) printf("%d files were under way when they were closed\n", num_hidden);
    fflush(stdout);
    if (strcmp(what, "exit") == 0) exit(0);
    if (strcmp(what, "kill") == 0) raise(SIGKILL);
    MPI_Type_free(&every_rank);
    MPI_Finalize();
    if (strcmp(what, "steps") == 0 && is_checked) check_steps();
    return is_checked && num_wrong != 0;
}
