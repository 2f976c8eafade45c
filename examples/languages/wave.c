/* Two steps of a field that is split over the ranks, written by Hakobi from C: see wave.cpp.
 * Usage: wave <prefix> [method] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <hakobi.h>

#define NY 37
#define NX 53

/* A failed collective call fails on every rank alike, so that every rank may leave here. */
static void check(int code) {
    if (code == HAKOBI_OK) return;
    fprintf(stderr, "wave: %s\n", hakobi_error_text());
    MPI_Finalize();
    exit(2);
}

int main(int argc, char** argv) {
    hakobi_comm* comm = NULL;
    hakobi_output_options options = HAKOBI_INIT(hakobi_output_options);
    hakobi_output* out = NULL;
    hakobi_field_definition field = HAKOBI_INIT(hakobi_field_definition);
    int64_t eta_id, cell_id, number_id, depth_id;
    hakobi_block block;
    const int64_t global[2] = {NY, NX};
    double lat[NY], lon[NX];
    double* eta;
    int32_t* cell;
    float* depth;
    int64_t number;
    const double range[2] = {0, 1e6}, missing = -9999;
    const int64_t least = 0;
    const size_t size = sizeof(hakobi_attribute);
    const hakobi_attribute of_eta[2] = {
        {.struct_size = size, .name = "cell_methods", .text = "time: point"},
        {.struct_size = size, .name = "valid_range", .doubles = range, .num_values = 2}};
    const hakobi_attribute of_cell = {
        .struct_size = size, .name = "valid_min", .integers = &least, .num_values = 1};
    const hakobi_attribute of_run = {.struct_size = size, .name = "institution", .text = "an example"};
    const hakobi_axis axes[2] = {{.struct_size = sizeof(hakobi_axis),
                                  .name = "lat",
                                  .units = "degrees_north",
                                  .standard_name = "latitude",
                                  .values = lat,
                                  .num_values = NY},
                                 {.struct_size = sizeof(hakobi_axis),
                                  .name = "lon",
                                  .units = "degrees_east",
                                  .standard_name = "longitude",
                                  .values = lon,
                                  .num_values = NX}};
    int step, i, j;

    MPI_Init(&argc, &argv);
    for (j = 0; j < NY; ++j) lat[j] = 30 + 0.5 * j;
    for (i = 0; i < NX; ++i) lon[i] = 140 + 0.5 * i;

    check(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm));
    check(hakobi_split(2, global, hakobi_comm_size(comm), hakobi_comm_rank(comm), &block));
    options.method = argc > 2 ? argv[2] : "auto";
    options.title = "a wave";
    options.if_exists = HAKOBI_IF_EXISTS_REPLACE;
    options.time_units = "seconds since 2011-03-11 05:46:24";
    options.axes = axes;
    options.num_axes = 2;
    options.attributes = &of_run;
    options.num_attributes = 1;
    check(hakobi_output_create(comm, argc > 1 ? argv[1] : "wave", &options, &out));

    /* Once for all steps; an error here is one on every rank. */
    field.name = "eta";
    field.units = "m";
    field.standard_name = "sea_surface_height";
    field.global = global;
    field.num_dims = 2;
    field.attributes = of_eta;
    field.num_attributes = 2;
    field.fill_value = &missing;
    check(hakobi_output_define(out, &field, &eta_id));
    check(hakobi_output_define(out,
                               &(hakobi_field_definition){.struct_size = sizeof(hakobi_field_definition),
                                                          .name = "cell",
                                                          .long_name = "number of the cell",
                                                          .global = global,
                                                          .num_dims = 2,
                                                          .type = HAKOBI_INT32,
                                                          .attributes = &of_cell,
                                                          .num_attributes = 1},
                               &cell_id));
    check(hakobi_output_define(out,
                               &(hakobi_field_definition){.struct_size = sizeof(hakobi_field_definition),
                                                          .name = "number", /* a scalar */
                                                          .type = HAKOBI_INT64},
                               &number_id));
    check(hakobi_output_define(out,
                               &(hakobi_field_definition){.struct_size = sizeof(hakobi_field_definition),
                                                          .name = "depth",
                                                          .units = "m",
                                                          .global = global,
                                                          .num_dims = 2,
                                                          .type = HAKOBI_FLOAT32,
                                                          .is_static = HAKOBI_YES},
                               &depth_id));

    eta = malloc(sizeof(double) * (size_t)(block.count[0] * block.count[1]));
    cell = malloc(sizeof(int32_t) * (size_t)(block.count[0] * block.count[1]));
    depth = malloc(sizeof(float) * (size_t)(block.count[0] * block.count[1]));
    for (step = 0; step < 2; ++step) {
        for (j = 0; j < block.count[0]; ++j) {
            for (i = 0; i < block.count[1]; ++i) {
                const int64_t y = block.start[0] + j, x = block.start[1] + i;
                eta[j * block.count[1] + i] = (double)(1000 * y + x) + 0.25 * step;
                cell[j * block.count[1] + i] = (int32_t)(y * NX + x);
                depth[j * block.count[1] + i] = (float)(10 * y);
            }
        }
        check(hakobi_output_begin_step(out, 60.0 * step));
        /* end_step reports on every rank what put refuses on one. */
        hakobi_output_put_values(out, eta_id, &block, eta, NULL);
        hakobi_output_put_values(out, cell_id, &block, cell, NULL);
        number = step;
        hakobi_output_put_values(out, number_id, NULL, &number, NULL);
        if (step == 0) hakobi_output_put_values(out, depth_id, &block, depth, NULL); /* in all files */
        check(hakobi_output_end_step(out));
    }
    check(hakobi_output_close(out));
    hakobi_output_free(out);
    check(hakobi_comm_free(comm));
    free(depth);
    free(cell);
    free(eta);
    MPI_Finalize();
    return 0;
}
