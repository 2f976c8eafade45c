// Loaded by plugin_program after it has opened its file.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

int append_shared(MPI_File file, MPI_Offset from, int value);
int read_by_address(MPI_File file, MPI_Offset offset, int* value);
int write_by_address(MPI_File file, MPI_Offset offset, int* value);

int append_shared(MPI_File file, MPI_Offset from, int value) {
    const int error = MPI_File_seek_shared(file, from, MPI_SEEK_SET);
    if (error != MPI_SUCCESS) return error;
    MPI_Barrier(MPI_COMM_WORLD);
    return MPI_File_write_shared(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

// A function of the MPI library's own, as languages find it that open the library by name; NULL where it has
// none.
static void* library_function(const char* name) {
    Dl_info found;
    void* const symbol = dlsym(RTLD_DEFAULT, "MPI_Comm_rank");
    return symbol == NULL || dladdr(symbol, &found) == 0
               ? NULL
               : dlsym(dlopen(found.dli_fname, RTLD_LAZY | RTLD_NOLOAD), name);
}

int read_by_address(MPI_File file, MPI_Offset offset, int* value) {
    union {
        void* object;
        int (*call)(MPI_File, MPI_Offset, void*, int, MPI_Datatype, MPI_Status*);
    } read_at = {library_function("MPI_File_read_at")};
    return read_at.object == NULL ? MPI_ERR_OTHER
                                  : read_at.call(file, offset, value, 1, MPI_INT, MPI_STATUS_IGNORE);
}

int write_by_address(MPI_File file, MPI_Offset offset, int* value) {
    union {
        void* object;
        int (*call)(MPI_File, MPI_Offset, const void*, int, MPI_Datatype, MPI_Status*);
    } write_at = {library_function("MPI_File_write_at")};
    return write_at.object == NULL ? MPI_ERR_OTHER
                                   : write_at.call(file, offset, value, 1, MPI_INT, MPI_STATUS_IGNORE);
}
