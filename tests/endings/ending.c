/* The same as ending.cpp, from C. "exception" frees the output, as a program does that gives up. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hakobi.h>

static void check(int code) {
    if (code == HAKOBI_OK) return;
    fprintf(stderr, "ending: %s\n", hakobi_error_text());
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static void note(const char* prefix, int step) {
    char name[1000];
    FILE* file;
    snprintf(name, sizeof name, "%s.accepted", prefix);
    file = fopen(name, "a");
    fprintf(file, "%d\n", step);
    fclose(file);
}

int main(int argc, char** argv) {
    hakobi_comm* comm = NULL;
    hakobi_output_options options = HAKOBI_INIT(hakobi_output_options);
    hakobi_output* out = NULL;
    hakobi_block block;
    const int64_t global[2] = {256, 512};
    double* eta;
    int64_t i, num;
    int step, is_last;
    if (argc != 4) return 2;
    MPI_Init(&argc, &argv);
    check(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm));
    check(hakobi_split(2, global, hakobi_comm_size(comm), hakobi_comm_rank(comm), &block));
    options.method = argv[2];
    check(hakobi_output_create(comm, argv[1], &options, &out));
    num = block.count[0] * block.count[1];
    eta = malloc(sizeof(double) * (size_t)num);
    for (step = 0; step < 5; ++step) {
        for (i = 0; i < num; ++i) eta[i] = step + 0.5;
        check(hakobi_output_begin_step(out, step));
        check(hakobi_output_put(out, &(hakobi_field){.struct_size = sizeof(hakobi_field),
                                                     .name = "eta",
                                                     .block = block,
                                                     .type = HAKOBI_FLOAT64,
                                                     .data = eta}));
        check(hakobi_output_end_step(out));
        if (hakobi_comm_rank(comm) == 0) note(argv[1], step);
    }
    is_last = hakobi_comm_rank(comm) == hakobi_comm_size(comm) - 1;
    if (strcmp(argv[3], "close") == 0) check(hakobi_output_close(out));
    if (strcmp(argv[3], "drop") == 0 || strcmp(argv[3], "exception") == 0) hakobi_output_free(out);
    if (strcmp(argv[3], "exit") == 0) exit(3);
    if (strcmp(argv[3], "abort") == 0 && is_last) MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(argv[3], "terminate") == 0 && is_last) kill(getpid(), SIGTERM);
    if (strcmp(argv[3], "kill") == 0 && is_last) kill(getpid(), SIGKILL);
    if (strcmp(argv[3], "abort") == 0 || strcmp(argv[3], "terminate") == 0 || strcmp(argv[3], "kill") == 0)
        sleep(30);
    MPI_Finalize();
    free(eta);
    return 0;
}
