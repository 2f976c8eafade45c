/* plain_output FILE BYTES: what storage gives a program that has nothing to rearrange, the floor that compare.py measures
 * the others against. At most four ranks each write a contiguous part by pwrite, 4 MiB at a time, from memory that has
 * been touched before. */
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
    char* const buffer = malloc(step_bytes);
    require(buffer != NULL, "allocating a buffer");
    memset(buffer, 1 + rank, step_bytes);

    const double begin_s = begin_time();
    if (rank < num_writers) {
        const int file = open(argv[1], O_WRONLY | O_CREAT, 0666);
        require(file >= 0, "open");
        long long at = num_bytes * rank / num_writers;
        const long long end = num_bytes * (rank + 1) / num_writers;
        while (at < end) {
            const ssize_t written =
                pwrite(file, buffer, (size_t)(end - at < step_bytes ? end - at : step_bytes), at);
            require(written > 0, "pwrite");
            at += written;
        }
        require(close(file) == 0, "close");
    }
    end_time(begin_s, (double)num_bytes);
    free(buffer);
    MPI_Finalize();
    return 0;
}
