/* hakobi-bench-mpi-io: one case of MPI-IO calls, timed again and again; a program that knows nothing of
 * Hakobi.
 *
 *  1. A repetition makes a new file (one that has holes is there, filled, before), writes it, and reads it.
 *     Time is from the first rank's start of MPI_File_open, after a barrier, to the last rank's return from
 *     MPI_File_close; "call_s" leaves both out.
 *  2. Each set of hints takes its turn in every repetition. The first repetition is not counted.
 *  3. Every byte is verified, outside the timed part, and by no MPI-IO (image.h): a wrong or a missing one
 *     ends the program with status 1.
 *  4. A sample is a line of JSON on stdout. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image.h"
#include "program.h"

enum { most_hint_sets = 8, most_numbers = 4 };

const char* const program_name = "hakobi-bench-mpi-io";

struct clock {
    double open_s, call_s, called_s, closed_s, cpu_s;
};

static MPI_File open_file(const char* name, int is_write, MPI_Info info) {
    MPI_File file;
    const int mode = is_write ? MPI_MODE_CREATE | MPI_MODE_RDWR : MPI_MODE_RDONLY;
    require_mpi(MPI_File_open(MPI_COMM_WORLD, name, mode, info, &file), "MPI_File_open");
    return file;
}

static int move_at(MPI_File file, const struct request* r, const struct piece* piece, unsigned char* data,
                   int is_write) {
    const int bytes = (int)piece->bytes;
    const MPI_Offset at = piece->offset;
    if (r->is_independent)
        return is_write ? MPI_File_write_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                        : MPI_File_read_at(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    return is_write ? MPI_File_write_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE)
                    : MPI_File_read_at_all(file, at, data, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
}

static void move_plainly(int file, const struct piece* piece, unsigned char* data, int is_write) {
    for (long long done = 0; done < piece->bytes;) {
        const size_t rest = (size_t)(piece->bytes - done);
        const off_t at = (off_t)(piece->offset + done);
        const ssize_t moved =
            is_write ? pwrite(file, data + done, rest, at) : pread(file, data + done, rest, at);
        require(moved > 0, is_write ? "pwrite" : "pread", moved < 0 ? strerror(errno) : "the file's end");
        done += moved;
    }
}

static struct clock move_all_plainly(const struct request* r, const char* name, unsigned char* data,
                                     int is_write) {
    struct clock clock;
    const double cpu_before_s = cpu_s();
    clock.open_s = MPI_Wtime();
    const int file = open(name, is_write ? O_RDWR | O_CREAT : O_RDONLY, 0666);
    require(file >= 0, name, "cannot be opened");
    clock.call_s = MPI_Wtime();
    long long at = 0;
    for (int i = 0; i < r->num_pieces; at += r->pieces[i++].bytes)
        move_plainly(file, &r->pieces[i], data + at, is_write);
    clock.called_s = MPI_Wtime();
    require(close(file) == 0, name, "cannot be closed");
    clock.closed_s = MPI_Wtime();
    clock.cpu_s = cpu_s() - cpu_before_s;
    return clock;
}

static void move_through_view(MPI_File file, const struct request* r, unsigned char* data, int is_write,
                              MPI_Info info) {
    MPI_Status status;
    int count = 0;
    require_mpi(MPI_File_set_view(file, r->displacement, MPI_BYTE, r->file_type, "native", info),
                "MPI_File_set_view");
    const int num = r->num_pieces > 0 ? r->count : 0;
    require_mpi(is_write ? MPI_File_write_all(file, data, num, r->memory_type, &status)
                         : MPI_File_read_all(file, data, num, r->memory_type, &status),
                is_write ? "MPI_File_write_all" : "MPI_File_read_all");
    MPI_Get_count(&status, MPI_BYTE, &count);
    require(count == r->bytes, "a collective call", "moved another number of bytes");
}

static struct clock move(const struct request* r, const char* name, unsigned char* data, int is_write,
                         MPI_Info info) {
    if (r->is_plain) return move_all_plainly(r, name, data, is_write);
    struct clock clock;
    MPI_File file;
    const double cpu_before_s = cpu_s();
    clock.open_s = MPI_Wtime();
    if (r->mode == many_opens) {
        clock.call_s = clock.open_s;
        for (int i = 0; i < r->count; ++i) {
            file = open_file(name, is_write, info);
            require_mpi(move_at(file, r, r->pieces, data, is_write), "a collective call");
            require_mpi(MPI_File_close(&file), "MPI_File_close");
        }
        clock.called_s = clock.closed_s = MPI_Wtime();
        clock.cpu_s = cpu_s() - cpu_before_s;
        return clock;
    }
    file = open_file(name, is_write, info);
    clock.call_s = MPI_Wtime();
    if (r->mode == through_view) {
        move_through_view(file, r, data, is_write, info);
    } else {
        long long at = 0;
        for (int i = 0; i < r->num_pieces; at += r->pieces[i++].bytes)
            require_mpi(move_at(file, r, &r->pieces[i], data + at, is_write), "a call");
    }
    clock.called_s = MPI_Wtime();
    require_mpi(MPI_File_close(&file), "MPI_File_close");
    clock.closed_s = MPI_Wtime();
    clock.cpu_s = cpu_s() - cpu_before_s;
    return clock;
}

/* The clocks of a node's ranks are one. */
static double report(const struct clock* clock, int set, int is_write, long long bytes) {
    int rank;
    double mine[4] = {-clock->open_s, -clock->call_s, clock->called_s, clock->closed_s}, last[4], cpu = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(mine, last, 4, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Reduce(&clock->cpu_s, &cpu, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    const double time_s = last[0] + last[3];
    if (rank == 0 && set >= 0)
        printf(
            "{\"kind\": \"sample\", \"hint_set\": %d, \"operation\": \"%s\", \"time_s\": %.9f, \"call_s\": "
            "%.9f, "
            "\"cpu_s\": %.6f, \"bytes\": %lld}\n",
            set, is_write ? "write" : "read", time_s, last[1] + last[2], cpu, bytes);
    return time_s;
}

/* Returns the seconds timed. `set`: -1 for a repetition that does not count. */
static double repetition(const struct request* r, const char* name, unsigned char* data, long long data_bytes,
                         unsigned seed, MPI_Info info, int set) {
    int rank;
    long long total = 0;
    double timed_s = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&r->bytes, &total, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        unlink(name);
        if (r->holes == filled_holes) require(make_filled_file(name, r->file_bytes), name, "cannot be made");
    }
    for (int is_write = 1; is_write >= 0; --is_write) {
        memset(data, 0, (size_t)data_bytes);
        if (is_write) fill_data(r, data, seed);
        MPI_Barrier(MPI_COMM_WORLD);
        const struct clock clock = move(r, name, data, is_write, info);
        timed_s += report(&clock, set, is_write, total);
        const char* wrong = is_write                       ? check_file(r, name, seed)
                            : is_data_wrong(r, data, seed) ? "a wrong byte in memory"
                                                           : NULL;
        require(wrong == NULL, is_write ? "verifying what was written" : "verifying what was read", wrong);
    }
    return timed_s;
}

int main(int argc, char** argv) {
    int rank, num_sets = 0, num_numbers = 0, least = 3, most = 30;
    double budget_s = 0.5;
    const char *folder = "/dev/shm", *shape = NULL, *sets[most_hint_sets] = {""};
    long long numbers[most_numbers];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int is_line_right = 1;
    for (int i = 1; i < argc && is_line_right; ++i) {
        const char* const value = i + 1 < argc ? argv[i + 1] : NULL;
        char* end = NULL;
        if (strncmp(argv[i], "--", 2) == 0) {
            is_line_right = value != NULL;
            if (!is_line_right) break;
            if (strcmp(argv[i], "--dir") == 0)
                folder = value;
            else if (strcmp(argv[i], "--hints") == 0 && num_sets < most_hint_sets)
                sets[num_sets++] = value;
            else if (strcmp(argv[i], "--budget") == 0)
                budget_s = atof(value);
            else if (strcmp(argv[i], "--min-samples") == 0)
                least = atoi(value);
            else if (strcmp(argv[i], "--max-samples") == 0)
                most = atoi(value);
            else
                is_line_right = 0;
            ++i;
        } else if (shape == NULL) {
            shape = argv[i];
        } else {
            is_line_right = num_numbers < most_numbers;
            if (is_line_right) numbers[num_numbers++] = strtoll(argv[i], &end, 10);
            is_line_right = is_line_right && end != argv[i] && *end == 0;
        }
    }
    struct request request;
    const char* wrong =
        "options: --dir FOLDER --hints NAME=VALUE;... --budget S --min-samples N --max-samples N SHAPE "
        "NUMBER...";
    if (is_line_right && shape != NULL) wrong = make_request(&request, shape, num_numbers, numbers);
    if (!is_line_right || shape == NULL || wrong != NULL) {
        if (rank == 0) fprintf(stderr, "hakobi-bench-mpi-io: %s\n%s", wrong, usage_text);
        MPI_Finalize();
        return 2;
    }
    if (num_sets == 0) num_sets = 1;
    char name[4096];
    require(snprintf(name, sizeof name, "%s/case.bin", folder) < (int)sizeof name, folder, "too long");
    const long long data_bytes = (request.bytes / request.memory_piece + 1) * request.memory_stride;
    unsigned char* const data = malloc((size_t)data_bytes);
    require(data != NULL, "data", "no memory");
    MPI_Info info[most_hint_sets];
    for (int s = 0; s < num_sets; ++s) info[s] = make_info(sets[s]);
    double timed_s = 0;
    unsigned seed = 0;
    int is_going = 1;
    for (int i = -1; is_going; ++i) {
        for (int s = 0; s < num_sets; ++s) {
            const double one_s =
                repetition(&request, name, data, data_bytes, ++seed, info[s], i < 0 ? -1 : s);
            if (i >= 0) timed_s += one_s;
        }
        is_going = i + 1 < least || (i + 1 < most && timed_s < budget_s * num_sets);
        MPI_Bcast(&is_going, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (rank == 0) unlink(name);
    for (int s = 0; s < num_sets; ++s)
        if (info[s] != MPI_INFO_NULL) MPI_Info_free(&info[s]);
    free(data);
    free_request(&request);
    MPI_Finalize();
    return 0;
}
