// Two threads a rank under MPI_THREAD_MULTIPLE, each with files of its own on a communicator of its own, at
// once: file after file, collectively written in blocks and read back. Then more threads, which share
// datatypes that are new when all of them use them at once. Ends with status 77 where the MPI library has no
// such thread level.
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_threads = 2, num_files = 6, block = 300, num_blocks = 40 };
enum { num_sharing_threads = 6, num_shared_types = 200, num_uses = 4, num_pieces = 40 };

static pthread_barrier_t together;
static MPI_Datatype shared;

struct work {
    pthread_t thread;
    MPI_Comm comm;
    int number;
    int num_wrong;
};

static int value_of(int thread, int file, int rank, int i) {
    return 1000000 * thread + 100000 * file + 20000 * rank + i;
}

static void check(int error, const char* call) {
    if (error == MPI_SUCCESS) return;
    fprintf(stderr, "%s failed\n", call);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void* run(void* argument) {
    struct work* work = argument;
    int rank, size;
    MPI_Comm_rank(work->comm, &rank);
    MPI_Comm_size(work->comm, &size);
    int* values = malloc(sizeof(int) * block * num_blocks);
    MPI_Datatype blocks;
    MPI_Type_vector(num_blocks, block, block * size, MPI_INT, &blocks);
    MPI_Type_commit(&blocks);
    for (int f = 0; f < num_files; ++f) {
        char name[64];
        snprintf(name, sizeof name, "thread%d-file%d.dat", work->number, f);
        MPI_Comm comm;  // as libraries do
        MPI_File file;
        MPI_Comm_dup(work->comm, &comm);
        check(MPI_File_open(comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
              "MPI_File_open");
        check(MPI_File_set_view(file, (MPI_Offset)sizeof(int) * block * rank, MPI_INT, blocks, "native",
                                MPI_INFO_NULL),
              "MPI_File_set_view");
        for (int i = 0; i < block * num_blocks; ++i) values[i] = value_of(work->number, f, rank, i);
        check(MPI_File_write_all(file, values, block * num_blocks, MPI_INT, MPI_STATUS_IGNORE),
              "MPI_File_write_all");
        memset(values, 0, sizeof(int) * block * num_blocks);
        check(MPI_File_read_at_all(file, 0, values, block * num_blocks, MPI_INT, MPI_STATUS_IGNORE),
              "MPI_File_read_at_all");
        for (int i = 0; i < block * num_blocks; ++i) {
            work->num_wrong += values[i] != value_of(work->number, f, rank, i);
        }
        check(MPI_File_close(&file), "MPI_File_close");
        MPI_Comm_free(&comm);
    }
    MPI_Type_free(&blocks);
    free(values);
    return NULL;
}

/// Pieces at no regular distance, which stay a list however they are described.
static MPI_Datatype irregular_type(void) {
    int lengths[num_pieces], displacements[num_pieces];
    for (int i = 0; i < num_pieces; ++i) {
        lengths[i] = 1 + i % 5;
        displacements[i] = 4 * i * i;
    }
    MPI_Datatype type;
    MPI_Type_indexed(num_pieces, lengths, displacements, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    return type;
}

static void* share_types(void* argument) {
    static char bytes[4 * num_pieces * num_pieces];
    const struct work* work = argument;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char name[64];
    snprintf(name, sizeof name, "thread%d-rank%d.dat", work->number, rank);
    MPI_File file;
    check(MPI_File_open(MPI_COMM_SELF, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file),
          "MPI_File_open");
    for (int i = 0; i < num_shared_types; ++i) {
        if (work->number == 0) shared = irregular_type();
        pthread_barrier_wait(&together);
        for (int use = 0; use < num_uses; ++use) {
            check(MPI_File_write_at_all(file, 0, bytes, 1, shared, MPI_STATUS_IGNORE),
                  "MPI_File_write_at_all");
        }
        pthread_barrier_wait(&together);
        if (work->number == 0) MPI_Type_free(&shared);
    }
    check(MPI_File_close(&file), "MPI_File_close");
    return NULL;
}

static void run_threads(int number, void* (*body)(void*), struct work* works) {
    for (int t = 0; t < number; ++t) pthread_create(&works[t].thread, NULL, body, &works[t]);
    for (int t = 0; t < number; ++t) pthread_join(works[t].thread, NULL);
}

int main(int argc, char** argv) {
    int provided = 0, num_wrong = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    struct work works[num_threads];
    for (int t = 0; t < num_threads; ++t) {
        works[t].number = t;
        works[t].num_wrong = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &works[t].comm);
    }
    // ROMIO sets itself up in the process's first open, and two threads there at once may find it half done
    // (a null MPI_Op), also without the drop-in: the first open is one thread's. It loads the drop-in too,
    // whose first half is not instrumented, so that the thread sanitizer would not see it ordered before the
    // threads' calls.
    MPI_File first;
    check(MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, &first),
          "the first MPI_File_open");
    check(MPI_File_close(&first), "the first MPI_File_close");
    run_threads(num_threads, run, works);
    for (int t = 0; t < num_threads; ++t) {
        num_wrong += works[t].num_wrong;
        MPI_Comm_free(&works[t].comm);
    }
    if (num_wrong > 0) printf("%d values are wrong\n", num_wrong);
    struct work sharing[num_sharing_threads];
    for (int t = 0; t < num_sharing_threads; ++t) sharing[t].number = t;
    pthread_barrier_init(&together, NULL, num_sharing_threads);
    run_threads(num_sharing_threads, share_types, sharing);
    pthread_barrier_destroy(&together);
    MPI_Finalize();
    return num_wrong > 0;
}
