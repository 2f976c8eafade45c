/* Reads the two steps of wave.c back: see sums.cpp. Usage: sums <prefix> */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hakobi.h>

/* A failed collective call fails on every rank alike, so that every rank may leave here. */
static void check(int code) {
    if (code == HAKOBI_OK) return;
    fprintf(stderr, "sums: %s\n", hakobi_error_text());
    MPI_Finalize();
    exit(2);
}

int main(int argc, char** argv) {
    hakobi_comm* comm = NULL;
    hakobi_input* in = NULL;
    hakobi_input_field field = HAKOBI_INIT(hakobi_input_field);
    hakobi_attribute attribute = HAKOBI_INIT(hakobi_attribute);
    hakobi_block block;
    double* eta;
    int64_t i, j, k;

    MPI_Init(&argc, &argv);
    check(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm));
    check(hakobi_input_open(comm, argc > 1 ? argv[1] : "wave", NULL, &in));
    check(hakobi_input_get_field(in, -1, "eta", &field));
    check(hakobi_split(field.num_dims, field.shape, hakobi_comm_size(comm),
                       hakobi_comm_size(comm) - 1 - hakobi_comm_rank(comm), &block));
    for (i = 0; hakobi_input_get_attribute(in, -1, "eta", (int)i, &attribute) == HAKOBI_OK; ++i) {
        if (hakobi_comm_rank(comm) == 0 && strcmp(attribute.name, "_FillValue") == 0)
            printf("missing: %.0f\n", attribute.doubles[0]);
    }
    eta = malloc(sizeof(double) * (size_t)(block.count[0] * block.count[1]));
    for (i = 0; i < hakobi_input_num_steps(in); ++i) {
        double sum = 0;
        check(hakobi_input_read(in, &(hakobi_field_read){.struct_size = sizeof(hakobi_field_read),
                                                         .name = "eta",
                                                         .step = hakobi_input_steps(in)[i],
                                                         .block = block,
                                                         .type = HAKOBI_FLOAT64,
                                                         .data = eta}));
        for (j = 0; j < block.count[0]; ++j) {
            for (k = 0; k < block.count[1]; ++k) {
                const int64_t place = (block.start[0] + j) * block.global[1] + block.start[1] + k;
                sum += (double)(place % 7 + 1) * eta[j * block.count[1] + k];
            }
        }
        MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        if (hakobi_comm_rank(comm) == 0)
            printf("step %d at %g s: %.2f\n", (int)hakobi_input_steps(in)[i], hakobi_input_times(in)[i], sum);
    }
    check(hakobi_input_close(in));
    hakobi_input_free(in);
    check(hakobi_comm_free(comm));
    free(eta);
    MPI_Finalize();
    return 0;
}
