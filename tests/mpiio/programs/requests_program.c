/* MPI's rules for requests and for errors at completion, with nonblocking and split collectives:
 *
 *     requests_program FILE            freed and cancelled requests, progress without calls of MPI, errors on a file that may not grow
 *     requests_program FILE finalize   MPI ends with an operation that nobody has completed, of a file that nobody has closed */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { bytes = 300000, limit = 96 << 20 };

static int rank, size, num_handled, handled_class;
static char mine[bytes], read_back[bytes];

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static int class_of(int error) {
    int result = MPI_SUCCESS;
    if (error != MPI_SUCCESS) MPI_Error_class(error, &result);
    return result;
}

static void handle(MPI_File* file, int* error, ...) {
    (void)file;
    ++num_handled;
    handled_class = class_of(*error);
}

static void fill(int number) {
    int i;
    for (i = 0; i < bytes; ++i) mine[i] = (char)(number + i * 7 + rank);
}

/* By no MPI-IO. */
static void check(const char* name, MPI_Offset at) {
    FILE* file = fopen(name, "rb");
    require(file != NULL && fseek(file, (long)at, SEEK_SET) == 0 && fread(read_back, 1, bytes, file) == bytes,
            "the file ends too early");
    fclose(file);
    require(memcmp(mine, read_back, bytes) == 0, "the file has other bytes");
}

int main(int argc, char** argv) {
    const char* name = argc > 1 ? argv[1] : "requests.dat";
    MPI_Offset at;
    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    MPI_Errhandler handler;
    struct rlimit most;
    int flag, got, i, error, left;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    at = (MPI_Offset)rank * bytes;
    if (rank == 0) unlink(name);
    MPI_Barrier(MPI_COMM_WORLD);
    require(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                MPI_SUCCESS,
            "the file does not open");

    /* A freed request's operation is over when the file is closed, or MPI ended. */
    fill(1);
    MPI_File_iwrite_at_all(file, at, mine, bytes, MPI_CHAR, &request);
    MPI_Request_free(&request);
    require(request == MPI_REQUEST_NULL, "a freed request is null");
    if (argc > 2 && strcmp(argv[2], "finalize") == 0) {
        MPI_Finalize();
        check(name, at);
        return 0;
    }
    MPI_File_close(&file);
    check(name, at);

    /* It cannot be cancelled, and is carried out. */
    MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    fill(2);
    MPI_File_iwrite_at_all(file, at, mine, bytes, MPI_CHAR, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    MPI_Get_count(&status, MPI_CHAR, &got);
    require(flag == 0 && got == bytes, "a write was cancelled");
    MPI_Barrier(MPI_COMM_WORLD);
    check(name, at);

    /* It goes on while the program makes no call of MPI: the first looks find it complete. */
    fill(3);
    MPI_File_iwrite_at_all(file, at, mine, bytes, MPI_CHAR, &request);
    usleep(1500000);
    for (i = 0, flag = 0; i < 3 && !flag; ++i) MPI_Test(&request, &flag, &status);
    require(flag, "nothing went on while the program did something else");
    MPI_Barrier(MPI_COMM_WORLD);
    check(name, at);

    /* Neither the call nor a look waits for other ranks: they begin when rank 0 has looked often. */
    if (rank != 0) MPI_Recv(&flag, 1, MPI_INT, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_File_iread_at_all(file, at, read_back, bytes, MPI_CHAR, &request);
    for (i = 0; rank == 0 && i < 100; ++i) MPI_Request_get_status(request, &flag, &status);
    require(rank != 0 || size == 1 || !flag, "an operation is over before all ranks have begun it");
    for (i = 1; rank == 0 && i < size; ++i) MPI_Send(&flag, 1, MPI_INT, i, 9, MPI_COMM_WORLD);
    MPI_Wait(&request, &status);
    require(memcmp(mine, read_back, bytes) == 0, "a read brings other bytes");

    /* Errors are told at completion, to the file's handler, and not to the communicator's, which would end
     * the program. */
    getrlimit(RLIMIT_FSIZE, &most);
    signal(SIGXFSZ, SIG_IGN);
    most.rlim_cur = limit;
    MPI_Barrier(MPI_COMM_WORLD);
    setrlimit(RLIMIT_FSIZE, &most);
    for (i = 0; i < 3; ++i) {
        if (i == 1) {
            MPI_File_create_errhandler(handle, &handler);
            MPI_File_set_errhandler(file, handler);
        }
        require(MPI_File_iwrite_at_all(file, limit + at, mine, bytes, MPI_CHAR, &request) == MPI_SUCCESS,
                "the call itself fails");
        error = i < 2 ? MPI_Wait(&request, &status) : MPI_Waitall(1, &request, &status);
        require(class_of(error) == (i < 2 ? MPI_ERR_NO_SPACE : MPI_ERR_IN_STATUS), "MPI_Wait hides an error");
        require(request == MPI_REQUEST_NULL, "a completed request is null");
        require(num_handled == i && (i == 0 || handled_class == MPI_ERR_NO_SPACE),
                "the file's handler is called once");
    }
    require(MPI_File_write_at_all_begin(file, limit + at, mine, bytes, MPI_CHAR) == MPI_SUCCESS,
            "a split call begins");
    require(class_of(MPI_File_write_at_all_end(file, mine, &status)) == MPI_ERR_NO_SPACE,
            "its end tells the error");
    require(num_handled == 3, "a split call's error is handled");

    /* And the file goes on. */
    most.rlim_cur = most.rlim_max;
    setrlimit(RLIMIT_FSIZE, &most);
    fill(4);
    MPI_File_iwrite_at_all(file, at, mine, bytes, MPI_CHAR, &request);
    require(MPI_Wait(&request, &status) == MPI_SUCCESS, "the file is lost after an error");
    MPI_Barrier(MPI_COMM_WORLD);
    check(name, at);

    /* A wrong argument of one rank is an error on all, at completion. */
    MPI_File_iwrite_at_all(file, rank == size - 1 ? -1 : at, mine, bytes, MPI_CHAR, &request);
    require(class_of(MPI_Wait(&request, &status)) == MPI_ERR_ARG, "a wrong offset is no error");

    /* Its own handler still stands where an error of another kind is met. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    left = MPI_Send(mine, 1, MPI_CHAR, size + 7, 0, MPI_COMM_WORLD);
    require(left != MPI_SUCCESS, "a wrong rank is an error");
    MPI_Errhandler_free(&handler);
    MPI_File_close(&file);
    if (rank == 0) unlink(name);
    MPI_Finalize();
    return 0;
}
