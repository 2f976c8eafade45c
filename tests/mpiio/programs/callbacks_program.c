// A program's actions in functions that the MPI library calls: error handlers that access another file, or
// leave the library for good; attributes of a communicator on which files are opened. Also cases in which two
// sides must agree: hints that come after a view, the individual pointer of two threads, a file name that
// ROMIO and OMPIO understand differently.
#include <mpi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { num_alone = 4000, num_together = 400 };

static MPI_File other;
static jmp_buf after;
static int leaves = 0, num_heard = 0, num_copied = 0, num_deleted = 0;

static void hear(MPI_File* file, int* error, ...) {
    (void)file, (void)error;
    ++num_heard;
    if (leaves) longjmp(after, 1);
    const int value = 0x41414141;
    MPI_File_write_at(other, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

static int copy(MPI_Comm comm, int key, void* extra, void* in, void* out, int* flag) {
    (void)comm, (void)key, (void)extra;
    *(void**)out = in;
    *flag = 1;
    ++num_copied;
    return MPI_SUCCESS;
}

static int forget(MPI_Comm comm, int key, void* value, void* extra) {
    (void)comm, (void)key, (void)value, (void)extra;
    ++num_deleted;
    return MPI_SUCCESS;
}

// Two files; `other` has a view that the drop-in does not give the library at once.
static void handlers(int rank, int size) {
    MPI_File file;
    MPI_Datatype tile;
    MPI_Errhandler handler;
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &tile);
    MPI_Type_commit(&tile);
    MPI_File_open(MPI_COMM_WORLD, "read", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_close(&file);
    MPI_File_open(MPI_COMM_WORLD, "read", MPI_MODE_RDONLY, MPI_INFO_NULL, &file);
    MPI_File_create_errhandler(hear, &handler);
    MPI_File_set_errhandler(file, handler);
    MPI_File_open(MPI_COMM_WORLD, "other", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &other);
    MPI_File_set_view(other, 100 + 4 * rank, MPI_INT, tile, "native", MPI_INFO_NULL);
    int value = 0x42424242;
    for (leaves = 0; leaves < 2; ++leaves) {
        if (!setjmp(after)) MPI_File_write_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
        value = 0x43434343 + leaves;
        MPI_File_write_at_all(other, 1 + leaves, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    }
    MPI_File_close(&other);
    MPI_File_close(&file);
    MPI_Errhandler_free(&handler);
    MPI_Type_free(&tile);
    if (rank == 0) printf("handler heard %d times\n", num_heard);
}

static void attributes(int rank) {
    MPI_Comm comm;
    MPI_File file;
    int key = 0;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_keyval(copy, forget, &key, NULL);
    MPI_Comm_set_attr(comm, key, &key);
    MPI_File_open(comm, "attributes", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    if (rank == 0) printf("attributes left: %d\n", 1 + num_copied - num_deleted);
}

static void hints(int rank, int size) {
    static const char* const values[] = {"enable", "disable"};
    char found[MPI_MAX_INFO_VAL + 1] = "";
    MPI_File file;
    MPI_Datatype tile;
    MPI_Info info;
    int is_found = 0;
    MPI_Type_create_resized(MPI_INT, 0, 4 * size, &tile);
    MPI_Type_commit(&tile);
    MPI_File_open(MPI_COMM_WORLD, "hints", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 2; ++i) {  // by the view, then by a call
        MPI_Info_create(&info);
        MPI_Info_set(info, "romio_ds_write", values[i]);
        if (i == 0) MPI_File_set_view(file, 4 * rank, MPI_INT, tile, "native", info);
        if (i == 1) MPI_File_set_info(file, info);
        MPI_Info_free(&info);
    }
    for (int i = 0; i < 2; ++i) {  // before and after the library has got the view
        MPI_File_get_info(file, &info);
        MPI_Info_get(info, "romio_ds_write", MPI_MAX_INFO_VAL, found, &is_found);
        if (rank == 0) printf("romio_ds_write %s\n", is_found ? found : "unknown");
        MPI_Info_free(&info);
        MPI_File_set_atomicity(file, i == 0);
    }
    MPI_File_write_all(file, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Type_free(&tile);
}

static void* read_alone(void* file) {
    int value = 0;
    for (int i = 0; i < num_alone; ++i)
        MPI_File_read(*(MPI_File*)file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    return NULL;
}

static void threads(int rank) {
    MPI_File file;
    MPI_Offset position = 0;
    pthread_t thread;
    int value = 0;
    MPI_File_open(MPI_COMM_WORLD, "threads", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    if (rank == 0) {
        int* values = calloc(num_alone + num_together, sizeof *values);
        MPI_File_write_at(file, 0, values, num_alone + num_together, MPI_INT, MPI_STATUS_IGNORE);
        free(values);
    }
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_sync(file);
    pthread_create(&thread, NULL, read_alone, &file);
    for (int i = 0; i < num_together; ++i) MPI_File_read_all(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    pthread_join(thread, NULL);
    MPI_File_get_position(file, &position);
    if (rank == 0) printf("position %lld\n", (long long)position);
    MPI_File_close(&file);
}

// A file that has the prefix in its name, as OMPIO leaves it, and one without it, as ROMIO does.
static void prefixes(int rank) {
    MPI_File file;
    MPI_Offset bytes = 0;
    const char* const names[] = {"ufs:file", "file"};
    for (int i = 0; rank == 0 && i < 2; ++i) {
        FILE* made = fopen(names[i], "wb");
        if (made != NULL) fclose(made);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_open(MPI_COMM_WORLD, "ufs:file", MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_File_get_size(file, &bytes);
    if (rank == 0) printf("size %lld\n", (long long)bytes);
    MPI_File_close(&file);
}

// With an argument only the threads: an error handler that leaves the library by longjmp leaves its locks
// behind.
int main(int argc, char** argv) {
    const int has_threads = argc > 1;
    int rank, size, provided;
    MPI_Init_thread(&argc, &argv, has_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (has_threads) {
        if (provided != MPI_THREAD_MULTIPLE) exit(77);
        threads(rank);
    } else {
        handlers(rank, size);
        attributes(rank);
        hints(rank, size);
        prefixes(rank);
    }
    MPI_Finalize();
    return 0;
}
