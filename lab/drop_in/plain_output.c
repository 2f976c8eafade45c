/* plain_output FILE BYTES: what storage gives a program that has nothing to rearrange, the floor that
 * compare.py measures the others against. At most four ranks each write a contiguous part by pwrite, 4 MiB at
 * a time, from memory as large as the part: one buffer again and again would stay in the processor's cache,
 * where no program's fields are. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    require(argc == 3, "plain_output FILE BYTES");
    const long long num_bytes = atoll(argv[2]);
    enum { step_bytes = 4 << 20, most_writers = 4 };
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int num_writers = size < most_writers ? size : most_writers;
    const long long begin = rank < num_writers ? num_bytes * rank / num_writers : 0;
    const long long end = rank < num_writers ? num_bytes * (rank + 1) / num_writers : 0;
    char* const part = malloc((size_t)(end - begin + 1));
    require(part != NULL, "allocating a part");
    memset(part, 1 + rank, (size_t)(end - begin + 1));

    const double begin_s = begin_time();
    if (rank < num_writers) {
        const int file = open(argv[1], O_WRONLY | O_CREAT, 0666);
        require(file >= 0, "open");
        for (long long at = begin; at < end;) {
            const size_t step = (size_t)(end - at < step_bytes ? end - at : step_bytes);
            const ssize_t written = pwrite(file, part + (at - begin), step, at);
            require(written > 0, "pwrite");
            at += written;
        }
        require(close(file) == 0, "close");
    }
    end_time(begin_s, (double)num_bytes, 0);
    free(part);
    MPI_Finalize();
    return 0;
}
