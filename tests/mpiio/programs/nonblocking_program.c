/* Nonblocking and split collectives: several files, several operations in flight, among blocking and
 * independent calls, with messages pending across. Every byte is checked against what the ranks compute by
 * themselves.
 *
 *     nonblocking_program FOLDER SEED STEPS
 *
 * Each rank draws what all ranks do from one sequence, and so knows each file's bytes; when it does it is
 * drawn by its own. Reads follow MPI's rules: writes are completed, and the file synced, before. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    num_files = 3,
    file_bytes = 400000,
    block = 96,
    most_pending = 6,
    most_bytes = 30000,
    message_bytes = 200000
};

struct operation {
    MPI_Request request;
    int file, is_write;
    long begin, length;              /* in the view of this rank */
    unsigned char *bytes, *expected; /* of a read */
};

static int rank, size, num_pending;
static struct operation pending[most_pending];
static MPI_File files[num_files];
static unsigned char* images[num_files];
static unsigned long common, own;

static unsigned long draw(unsigned long* state, unsigned long below) {
    *state = *state * 6364136223846793005UL + 1442695040888963407UL;
    return (*state >> 33) % below;
}

static void fail(const char* what, long at) {
    fprintf(stderr, "rank %d: %s at %ld\n", rank, what, at);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* File 0 is seen as it is, the others in blocks that the ranks take in turns. */
static long place(int file, int of_rank, long at) {
    return file == 0 ? at : (at / block * size + of_rank) * block + at % block;
}

static unsigned char value(int number, long at) {
    unsigned long mixed = ((unsigned long)number * 2654435761UL) ^ ((unsigned long)at * 40503UL);
    return (unsigned char)(mixed ^ (mixed >> 11));
}

static long view_bytes(int file) {
    return file == 0 ? file_bytes : file_bytes / size / block * block;
}

/* The blocks that rank `of` moves: alike on all ranks, as each calls it for all in turn. On file 0 the ranks'
 * parts do not overlap. */
static void draw_part(int file, int of, long* begin, long* length) {
    long span = file == 0 ? file_bytes / size : view_bytes(file);
    *length = (long)draw(&common, 5) == 0 ? 0 : 1 + (long)draw(&common, most_bytes);
    if (*length > span) *length = span;
    *begin = (long)draw(&common, (unsigned long)(span - *length + 1)) + (file == 0 ? of * span : 0);
}

static void check_read(const struct operation* done, long got) {
    long i;
    if (got != done->length) fail("a read returns another length", got);
    for (i = 0; i < done->length; ++i)
        if (done->bytes[i] != done->expected[i])
            fail("a read returns another byte", place(done->file, rank, done->begin + i));
}

static void finish(int which, MPI_Status* status) {
    struct operation* done = &pending[which];
    int got = -1;
    MPI_Get_count(status, MPI_BYTE, &got);
    if (!done->is_write)
        check_read(done, got);
    else if (got != done->length)
        fail("a write returns another length", got);
    memset(done->bytes, 0xee, (size_t)done->length + 1); /* lent no longer */
    free(done->bytes);
    free(done->expected);
    pending[which] = pending[--num_pending];
}

/* Completes one operation, or all, in some way that MPI has. */
static void complete(int all) {
    while (num_pending > 0) {
        MPI_Request requests[most_pending];
        MPI_Status statuses[most_pending];
        int i, index = 0, flag = 0, num = num_pending, how = (int)draw(&own, 5);
        for (i = 0; i < num; ++i) requests[i] = pending[i].request;
        if (how == 0) {
            index = (int)draw(&own, (unsigned long)num);
            MPI_Wait(&requests[index], &statuses[0]);
        } else if (how == 1) {
            index = (int)draw(&own, (unsigned long)num);
            while (!flag) MPI_Test(&requests[index], &flag, &statuses[0]);
        } else if (how == 2) {
            MPI_Waitany(num, requests, &index, &statuses[0]);
        } else if (how == 3) {
            while (!flag) MPI_Testany(num, requests, &index, &flag, &statuses[0]);
        } else {
            MPI_Waitall(num, requests, statuses);
            while (num_pending > 0) finish(num_pending - 1, &statuses[num_pending - 1]);
            return;
        }
        for (i = 0; i < num; ++i) pending[i].request = requests[i];
        finish(index, &statuses[0]);
        if (!all) return;
    }
}

static void complete_file(int file) {
    int i = 0;
    while (i < num_pending) {
        MPI_Status status;
        if (pending[i].file != file) {
            ++i;
            continue;
        }
        MPI_Wait(&pending[i].request, &status);
        finish(i, &status);
    }
}

static void begin(int file, int is_write, int number) {
    struct operation* next;
    MPI_Datatype pairs;
    long begins[64], lengths[64], i;
    int r, kind = (int)draw(&common, 6), has_offset = (int)draw(&common, 2);
    for (r = 0; r < size; ++r) {
        draw_part(file, r, &begins[r], &lengths[r]);
        if (!is_write) continue;
        for (i = 0; i < lengths[r]; ++i) {
            long at = place(file, r, begins[r] + i);
            images[file][at] = value(number, at);
        }
    }
    if (!is_write) {
        complete_file(file);
        MPI_File_sync(files[file]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_File_sync(files[file]);
    }
    if (num_pending == most_pending) complete(0);
    next = &pending[num_pending];
    next->file = file;
    next->is_write = is_write;
    next->begin = begins[rank];
    next->length = lengths[rank];
    next->bytes = malloc((size_t)next->length + 1);
    next->expected = malloc((size_t)next->length + 1);
    for (i = 0; i < next->length; ++i) {
        const long at = place(file, rank, next->begin + i);
        next->bytes[i] = is_write ? value(number, at) : 0x55;
        next->expected[i] = images[file][at];
    }
    if (!has_offset && kind != 4) MPI_File_seek(files[file], next->begin, MPI_SEEK_SET);
    /* Memory that is not MPI_BYTE, freed at once: it is in use until the operation is over. */
    MPI_Type_contiguous(1, MPI_BYTE, &pairs);
    MPI_Type_commit(&pairs);
    if (kind <= 2) {
        int count = (int)next->length;
        if (is_write && has_offset)
            MPI_File_iwrite_at_all(files[file], next->begin, next->bytes, count, pairs, &next->request);
        else if (is_write)
            MPI_File_iwrite_all(files[file], next->bytes, count, pairs, &next->request);
        else if (has_offset)
            MPI_File_iread_at_all(files[file], next->begin, next->bytes, count, pairs, &next->request);
        else
            MPI_File_iread_all(files[file], next->bytes, count, pairs, &next->request);
        ++num_pending;
        if (!is_write && draw(&common, 2) == 0) complete_file(file);
    } else {
        MPI_Status status;
        ++num_pending;
        if (kind == 3 && is_write) {
            if (has_offset) {
                MPI_File_write_at_all_begin(files[file], next->begin, next->bytes, (int)next->length, pairs);
                usleep((useconds_t)draw(&own, 500));
                MPI_File_write_at_all_end(files[file], next->bytes, &status);
            } else {
                MPI_File_write_all_begin(files[file], next->bytes, (int)next->length, pairs);
                MPI_File_write_all_end(files[file], next->bytes, &status);
            }
        } else if (kind == 3) {
            if (has_offset) {
                MPI_File_read_at_all_begin(files[file], next->begin, next->bytes, (int)next->length, pairs);
                MPI_File_read_at_all_end(files[file], next->bytes, &status);
            } else {
                MPI_File_read_all_begin(files[file], next->bytes, (int)next->length, pairs);
                MPI_File_read_all_end(files[file], next->bytes, &status);
            }
        } else if (kind == 4 && is_write) {
            /* Independent: after the operations that have been begun on these bytes. */
            struct operation here = *next;
            --num_pending;
            complete_file(file);
            MPI_Barrier(MPI_COMM_WORLD);
            next = &pending[num_pending++];
            *next = here;
            MPI_File_write_at(files[file], next->begin, next->bytes, (int)next->length, pairs, &status);
            MPI_Barrier(MPI_COMM_WORLD);
        } else if (kind == 4) {
            MPI_File_read_at(files[file], next->begin, next->bytes, (int)next->length, pairs, &status);
        } else if (is_write) {
            MPI_File_write_at_all(files[file], next->begin, next->bytes, (int)next->length, pairs, &status);
        } else {
            MPI_File_read_at_all(files[file], next->begin, next->bytes, (int)next->length, pairs, &status);
        }
        finish(num_pending - 1, &status);
    }
    MPI_Type_free(&pairs);
}

int main(int argc, char** argv) {
    int f, step, steps = argc > 3 ? atoi(argv[3]) : 40;
    unsigned char* message[2];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    common = strtoul(argc > 2 ? argv[2] : "1", NULL, 10) * 77777 + 1;
    own = common * 31 + (unsigned long)rank;
    for (f = 0; f < 2; ++f) message[f] = malloc(message_bytes);
    for (f = 0; f < num_files; ++f) {
        char name[4096];
        MPI_Datatype type;
        snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "nonblocking.dat", f);
        images[f] = calloc(1, file_bytes);
        if (rank == 0) unlink(name);
        MPI_Barrier(MPI_COMM_WORLD);
        if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &files[f]) !=
            MPI_SUCCESS)
            fail("a file does not open", f);
        MPI_File_set_size(files[f], file_bytes);
        if (f == 0) continue;
        MPI_Type_create_resized(MPI_BYTE, 0, 1, &type);
        MPI_Type_free(&type);
        MPI_Type_contiguous(block, MPI_BYTE, &type);
        {
            MPI_Datatype tile;
            MPI_Type_create_resized(type, 0, (MPI_Aint)block * size, &tile);
            MPI_Type_commit(&tile);
            MPI_File_set_view(files[f], (MPI_Offset)rank * block, MPI_BYTE, tile, "native", MPI_INFO_NULL);
            MPI_Type_free(&tile);
        }
        MPI_Type_free(&type);
    }
    for (step = 0; step < steps; ++step) {
        MPI_Request messages[2];
        int i, num = 1 + (int)draw(&common, 4);
        MPI_Irecv(message[1], message_bytes, MPI_BYTE, (rank + size - 1) % size, 5, MPI_COMM_WORLD,
                  &messages[0]);
        MPI_Isend(message[0], message_bytes, MPI_BYTE, (rank + 1) % size, 5, MPI_COMM_WORLD, &messages[1]);
        for (i = 0; i < num; ++i) {
            begin((int)draw(&common, num_files), draw(&common, 3) != 0, step * 8 + i);
            if (draw(&own, 3) == 0) usleep((useconds_t)draw(&own, 2000));
        }
        if (draw(&own, 3) == 0) complete(0);
        MPI_Waitall(2, messages, MPI_STATUSES_IGNORE);
    }
    complete(1);
    for (f = 0; f < num_files; ++f) MPI_File_close(&files[f]);
    for (f = 0; f < num_files; ++f) {
        char name[4096];
        long i;
        FILE* file;
        if (rank != 0) break;
        snprintf(name, sizeof name, "%s.%d", argc > 1 ? argv[1] : "nonblocking.dat", f);
        file = fopen(name, "rb");
        for (i = 0; i < file_bytes; ++i)
            if (file == NULL || fgetc(file) != images[f][i]) fail("a file has another byte", i);
        fclose(file);
        unlink(name);
    }
    if (rank == 0) printf("every byte is right\n");
    MPI_Finalize();
    return 0;
}
