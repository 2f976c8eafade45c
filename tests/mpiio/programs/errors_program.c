// Errors in a program that checks: the class of each call's error on each rank, printed by rank 0.
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int rank, size;

static const char* name_of(int error_class) {
    switch (error_class) {
        case MPI_SUCCESS:
            return "success";
        case MPI_ERR_ACCESS:
            return "ACCESS";
        case MPI_ERR_AMODE:
            return "AMODE";
        case MPI_ERR_ARG:
            return "ARG";
        case MPI_ERR_BAD_FILE:
            return "BAD_FILE";
        case MPI_ERR_COUNT:
            return "COUNT";
        case MPI_ERR_FILE:
            return "FILE";
        case MPI_ERR_FILE_EXISTS:
            return "FILE_EXISTS";
        case MPI_ERR_IO:
            return "IO";
        case MPI_ERR_NO_SPACE:
            return "NO_SPACE";
        case MPI_ERR_NO_SUCH_FILE:
            return "NO_SUCH_FILE";
        case MPI_ERR_OTHER:
            return "OTHER";
        case MPI_ERR_QUOTA:
            return "QUOTA";
        case MPI_ERR_READ_ONLY:
            return "READ_ONLY";
        case MPI_ERR_REQUEST:
            return "REQUEST";
        case MPI_ERR_TYPE:
            return "TYPE";
        case MPI_ERR_UNSUPPORTED_DATAREP:
            return "UNSUPPORTED_DATAREP";
        case MPI_ERR_UNSUPPORTED_OPERATION:
            return "UNSUPPORTED_OPERATION";
        default:
            return "another";
    }
}

static void show(const char* what, int error) {
    int error_class = MPI_SUCCESS, classes[64];
    if (error != MPI_SUCCESS) MPI_Error_class(error, &error_class);
    MPI_Gather(&error_class, 1, MPI_INT, classes, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (rank != 0) return;
    printf("%s:", what);
    for (int r = 0; r < size; ++r) printf(" %s", name_of(classes[r]));
    printf("\n");
}

static int opened(const char* name, int mode, MPI_File* file) {
    return MPI_File_open(MPI_COMM_WORLD, name, mode, MPI_INFO_NULL, file);
}

// Views that MPI rules out, the last one only where the file is written to.
static void show_views(MPI_File file) {
    const int before[] = {-2, 2}, backwards[] = {3, 0}, one_each[] = {1, 1}, over[] = {0, 1},
              three[] = {3, 1};
    MPI_Datatype types[3];
    const char* const names[] = {"before the file", "backwards", "over itself"};
    MPI_Type_indexed(2, one_each, before, MPI_INT, &types[0]);
    MPI_Type_indexed(2, one_each, backwards, MPI_INT, &types[1]);
    MPI_Type_indexed(2, three, over, MPI_INT, &types[2]);
    for (int i = 0; i < 3; ++i) {
        MPI_Type_commit(&types[i]);
        char what[64];
        snprintf(what, sizeof what, "a file type %s", names[i]);
        show(what, MPI_File_set_view(file, 0, MPI_INT, types[i], "native", MPI_INFO_NULL));
        MPI_Type_free(&types[i]);
    }
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
}

// Types of no use for data until they are committed.
static void show_uncommitted(MPI_File file, MPI_Offset at, void* bytes) {
    MPI_Datatype pair, four;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_contiguous(4, MPI_INT, &four);
    show("writing an uncommitted type", MPI_File_write_at_all(file, at, bytes, 1, pair, MPI_STATUS_IGNORE));
    show("reading none of it", MPI_File_read_at_all(file, at, bytes, 0, pair, MPI_STATUS_IGNORE));
    show("a view of it", MPI_File_set_view(file, 0, MPI_INT, four, "native", MPI_INFO_NULL));
    show("a view in terms of it", MPI_File_set_view(file, 0, pair, pair, "native", MPI_INFO_NULL));
    MPI_Type_commit(&pair);
    MPI_Type_commit(&four);
    show("a view of it, committed", MPI_File_set_view(file, 0, MPI_INT, four, "native", MPI_INFO_NULL));
    const MPI_Offset next = (MPI_Offset)rank * 2;  // without holes, which libraries fill with what they have
    show("writing it, committed", MPI_File_write_at_all(file, next, bytes, 1, pair, MPI_STATUS_IGNORE));
    MPI_File_set_view(file, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    MPI_Type_free(&pair);
    MPI_Type_free(&four);
}

int main(int argc, char** argv) {
    MPI_File file;
    static char bytes[1 << 16];
    (void)argc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    memset(bytes, 'a', sizeof bytes);

    show("opening a file that is not there", opened("missing", MPI_MODE_RDONLY, &file));
    if (rank == 0) mkdir("folder", 0755);
    MPI_Barrier(MPI_COMM_WORLD);
    show("writing to a folder", opened("folder", MPI_MODE_WRONLY, &file));
    show("creating in a folder that is not there",
         opened("nowhere/file", MPI_MODE_CREATE | MPI_MODE_RDWR, &file));

    show("creating", opened(argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, &file));
    show_views(file);
    const MPI_Offset at = (MPI_Offset)rank * 1000;
    show("writing a negative count", MPI_File_write_at_all(file, at, bytes, -1, MPI_BYTE, MPI_STATUS_IGNORE));
    show("reading a negative count", MPI_File_read_all(file, bytes, -1, MPI_BYTE, MPI_STATUS_IGNORE));
    show("writing without a type", MPI_File_write_all(file, bytes, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE));
    show_uncommitted(file, at, bytes);
    show("writing", MPI_File_write_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    show("beginning to write", MPI_File_write_at_all_begin(file, at, bytes, 1000, MPI_BYTE));
    show("ending", MPI_File_write_at_all_end(file, bytes, MPI_STATUS_IGNORE));
    if (argv[2] != NULL) {  // Open MPI alone says something of its own, or crashes
        show("beginning to write", MPI_File_write_at_all_begin(file, at, bytes, 1000, MPI_BYTE));
        show("beginning again", MPI_File_write_at_all_begin(file, at, bytes, 1000, MPI_BYTE));
        show("ending", MPI_File_write_at_all_end(file, bytes, MPI_STATUS_IGNORE));
        show("beginning a negative count", MPI_File_read_at_all_begin(file, at, bytes, -1, MPI_BYTE));
        const int error = MPI_File_read_at_all_end(file, bytes, MPI_STATUS_IGNORE);
        show("ending what did not begin", error == MPI_SUCCESS ? error : MPI_ERR_OTHER);  // whichever class
    }
    show("closing", MPI_File_close(&file));
    show("creating what is there", opened(argv[1], MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR, &file));

    show("opening to read", opened(argv[1], MPI_MODE_RDONLY, &file));
    show("reading", MPI_File_read_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    show_views(file);
    show("a view from before the file",
         MPI_File_set_view(file, -16, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    show("a view without a type",
         MPI_File_set_view(file, 0, MPI_BYTE, MPI_DATATYPE_NULL, "native", MPI_INFO_NULL));
    if (argv[2] != NULL)  // OMPIO with three ranks says success
        show("writing what is open to read",
             MPI_File_write_at_all(file, at, bytes, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    show("closing", MPI_File_close(&file));

    // The limit stands for a full disk. The library's own write fails on the ranks that are beyond it.
    show("opening to write", opened(argv[1], MPI_MODE_RDWR, &file));
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit;
    getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t unlimited = limit.rlim_cur;
    limit.rlim_cur = 8000;
    setrlimit(RLIMIT_FSIZE, &limit);
    const MPI_Offset beyond = 8000 + (MPI_Offset)rank * (MPI_Offset)sizeof bytes;
    const int error = MPI_File_write_at_all(file, beyond, bytes, sizeof bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    limit.rlim_cur = unlimited;
    setrlimit(RLIMIT_FSIZE, &limit);
    if (argv[2] != NULL) show("writing beyond the limit", error);
    show("writing afterwards", MPI_File_write_at_all(file, at, bytes, 1000, MPI_BYTE, MPI_STATUS_IGNORE));
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
