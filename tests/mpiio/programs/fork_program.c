// A program that starts others between its collective calls, with a file open: a child that ends as processes
// do (destructors, open files and all), one that becomes another program, one by the C library.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { num_values = 5000, num_rounds = 4 };

static void check(int is_right, const char* what) {
    if (is_right) return;
    fprintf(stderr, "%s\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void have_children(int round) {
    const pid_t child = fork();
    if (child == 0) {
        if (round % 2 == 0) exit(3);
        execlp("sh", "sh", "-c", "exit 3", (char*)NULL);
        _exit(4);
    }
    int status = 0;
    check(child > 0 && waitpid(child, &status, 0) == child, "no child");
    check(WIFEXITED(status) && WEXITSTATUS(status) == 3, "the child ended otherwise");
    check(system("true") == 0, "system() failed");
}

int main(int argc, char** argv) {
    int rank, size, values[num_values];
    MPI_File file;
    (void)argc;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file) ==
              MPI_SUCCESS,
          "MPI_File_open failed");
    for (int round = 0; round < num_rounds; ++round) {
        const MPI_Offset at = ((MPI_Offset)round * size + rank) * (MPI_Offset)sizeof values;
        for (int i = 0; i < num_values; ++i) values[i] = num_values * (num_rounds * rank + round) + i;
        check(MPI_File_write_at_all(file, at, values, num_values, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "MPI_File_write_at_all failed");
        have_children(round);
        check(MPI_File_read_at_all(file, at, values, num_values, MPI_INT, MPI_STATUS_IGNORE) == MPI_SUCCESS,
              "MPI_File_read_at_all failed");
        check(values[7] == num_values * (num_rounds * rank + round) + 7, "what was read is wrong");
    }
    MPI_File_close(&file);
    have_children(0);
    MPI_Finalize();
    return 0;
}
