// One nonblocking collective write and read of a little more than 2 GiB by each rank, which the kernel does
// not move in one call, in a view that the library may not have yet. The memory is a few pages of one file,
// mapped again and again.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { part_bytes = 16 << 20, num_parts = 129 };

static void require(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static unsigned char* map_parts(void) {
    const size_t bytes = (size_t)part_bytes * num_parts;
    const int memory = memfd_create("parts", 0);
    require(memory >= 0 && ftruncate(memory, part_bytes) == 0, "memfd_create");
    unsigned char* const begin =
        mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    require(begin != MAP_FAILED, "mmap");
    for (int i = 0; i < num_parts; ++i) {
        require(mmap(begin + (size_t)i * part_bytes, part_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, memory, 0) != MAP_FAILED,
                "mmap of a part");
    }
    close(memory);
    return begin;
}

static unsigned char value_at(size_t i) {
    return (unsigned char)(i * 13 + i / 4096);
}

static void show(const char* what, MPI_Status* status) {
    MPI_Count bytes = -1;
    MPI_Get_elements_x(status, MPI_BYTE, &bytes);
    printf("%s %lld bytes\n", what, (long long)bytes);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    unsigned char* const values = map_parts();
    for (size_t i = 0; i < part_bytes; ++i) values[i] = value_at(i);
    MPI_Datatype part, all;
    MPI_Type_contiguous(part_bytes, MPI_BYTE, &part);
    MPI_Type_contiguous(num_parts, part, &all);
    MPI_Type_commit(&all);

    MPI_File file;
    MPI_Request request;
    MPI_Status status;
    require(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
                MPI_SUCCESS,
            "open");
    MPI_File_set_view(file, 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    require(MPI_File_iwrite_at_all(file, 0, values, 1, all, &request) == MPI_SUCCESS, "iwrite_at_all");
    MPI_Wait(&request, &status);
    show("wrote", &status);
    MPI_Offset size = 0;
    MPI_File_get_size(file, &size);
    printf("the file has %lld bytes\n", (long long)size);

    memset(values, 0, part_bytes);
    MPI_File_set_view(file, 100, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL);
    require(MPI_File_iread_all(file, values, 1, all, &request) == MPI_SUCCESS, "iread_all");
    MPI_Wait(&request, &status);
    show("read", &status);
    MPI_Offset position = -1;
    MPI_File_get_position(file, &position);
    printf("the pointer is at %lld\n", (long long)position);
    size_t num_wrong = 0;
    for (size_t i = 0; i < part_bytes; ++i) num_wrong += values[i] != value_at(i);
    printf("%zu bytes are wrong\n", num_wrong);
    MPI_File_set_size(file, 4096);
    MPI_File_close(&file);
    MPI_Type_free(&part);
    MPI_Type_free(&all);
    MPI_Finalize();
    return num_wrong != 0;
}
