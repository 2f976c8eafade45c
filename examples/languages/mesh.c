/* An unstructured mesh whose points move, written and read by Hakobi from C: see mesh.cpp.
 * Usage: mesh <prefix> [method] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <hakobi.h>

/* A failed collective call fails on every rank alike, so that every rank may leave here. */
static void check(int code) {
    if (code == HAKOBI_OK) return;
    fprintf(stderr, "mesh: %s\n", hakobi_error_text());
    MPI_Finalize();
    exit(2);
}

/* A rank's part: a column of hexahedra, on the last of several ranks nothing. */
static hakobi_mesh make_column(int rank, int num_ranks) {
    static const double corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    const int64_t height = num_ranks > 1 && rank == num_ranks - 1 ? 0 : 2 + rank;
    const int64_t num_points = height > 0 ? 4 * (height + 1) : 0;
    double* points = malloc(sizeof(double) * (size_t)(3 * num_points + 1));
    int64_t* connectivity = malloc(sizeof(int64_t) * (size_t)(8 * height + 1));
    int64_t* offsets = malloc(sizeof(int64_t) * (size_t)(height + 1));
    uint8_t* types = malloc((size_t)height + 1);
    hakobi_mesh mesh = HAKOBI_INIT(hakobi_mesh);
    int64_t i;
    for (i = 0; i < num_points; ++i) {
        points[3 * i] = 2 * rank + corners[i % 4][0];
        points[3 * i + 1] = corners[i % 4][1];
        points[3 * i + 2] = (double)(i / 4);
    }
    for (i = 0; i < 8 * height; ++i) connectivity[i] = i / 8 * 4 + i % 8;
    for (i = 0; i <= height; ++i) offsets[i] = 8 * i;
    for (i = 0; i < height; ++i) types[i] = 12; /* VTK's hexahedron */
    mesh.motion = HAKOBI_MESH_MOVES;
    mesh.points_type = HAKOBI_FLOAT64;
    mesh.num_points = num_points;
    mesh.points = points;
    mesh.num_cells = height;
    mesh.types = types;
    mesh.offsets_type = HAKOBI_INT64;
    mesh.offsets = offsets;
    mesh.connectivity_type = HAKOBI_INT64;
    mesh.connectivity = connectivity;
    return mesh;
}

static int64_t define(hakobi_output* out, const char* name, const char* units, int on, int num_components) {
    hakobi_field_definition field = HAKOBI_INIT(hakobi_field_definition);
    int64_t id;
    field.name = name;
    field.units = units;
    field.on = on;
    field.num_components = num_components;
    check(hakobi_output_define(out, &field, &id));
    return id;
}

static void write_steps(hakobi_comm* comm, const char* prefix, const char* method) {
    const int rank = hakobi_comm_rank(comm);
    hakobi_mesh mesh = make_column(rank, hakobi_comm_size(comm));
    double* points = (double*)mesh.points;
    double* p = malloc(sizeof(double) * (size_t)(mesh.num_cells + 1));
    double* velocity = malloc(sizeof(double) * (size_t)(3 * mesh.num_cells + 1));
    double* temperature = malloc(sizeof(double) * (size_t)(mesh.num_points + 1));
    hakobi_output_options options = HAKOBI_INIT(hakobi_output_options);
    hakobi_output* out = NULL;
    int64_t i, c, p_id, velocity_id, temperature_id;
    int step;
    options.method = method;
    options.format = "vtkhdf";
    options.if_exists = HAKOBI_IF_EXISTS_REPLACE;
    check(hakobi_output_create(comm, prefix, &options, &out));
    p_id = define(out, "p", "Pa", HAKOBI_ON_CELLS, 1);
    velocity_id = define(out, "U", "m s-1", HAKOBI_ON_CELLS, 3);
    temperature_id = define(out, "T", "K", HAKOBI_ON_POINTS, 1);
    for (step = 0; step < 2; ++step) {
        for (i = 0; i < mesh.num_cells; ++i) {
            p[i] = 100 * rank + (double)i + 0.5 * step;
            for (c = 0; c < 3; ++c) velocity[3 * i + c] = p[i] + 0.25 * (double)c;
        }
        for (i = 0; i < mesh.num_points; ++i) temperature[i] = 273 + (double)i + step;
        check(hakobi_output_begin_step(out, 0.5 * step));
        if (step == 0) {
            check(hakobi_output_put_mesh(out, &mesh));
        } else {
            for (i = 0; i < mesh.num_points; ++i) points[3 * i] += 0.125;
            check(hakobi_output_put_points(out, HAKOBI_FLOAT64, points, 0));
        }
        check(hakobi_output_put_values(out, p_id, NULL, p, NULL));
        check(hakobi_output_put_values(out, velocity_id, NULL, velocity, NULL));
        check(hakobi_output_put_values(out, temperature_id, NULL, temperature, NULL));
        check(hakobi_output_end_step(out));
    }
    check(hakobi_output_close(out));
    hakobi_output_free(out);
    free(points);
    free((void*)mesh.connectivity);
    free((void*)mesh.offsets);
    free((void*)mesh.types);
    free(p);
    free(velocity);
    free(temperature);
}

/* `num_components` values of each of the part's cells. */
static double* read_cells(hakobi_input* in, const char* name, int64_t num_components,
                          const hakobi_input_mesh* mesh, const hakobi_mesh_part* part) {
    hakobi_field_read read = HAKOBI_INIT(hakobi_field_read);
    read.name = name;
    read.step = -1;
    read.block.num_dims = num_components > 1 ? 2 : 1;
    read.block.global[0] = mesh->num_cells;
    read.block.start[0] = part->first_cell;
    read.block.count[0] = part->num_cells;
    read.block.global[1] = read.block.count[1] = num_components;
    read.type = HAKOBI_FLOAT64;
    read.data = malloc(sizeof(double) * (size_t)(num_components * part->num_cells + 1));
    check(hakobi_input_read(in, &read));
    return read.data;
}

static void read_back(hakobi_comm* comm, const char* prefix) {
    hakobi_input* in = NULL;
    hakobi_input_mesh mesh = HAKOBI_INIT(hakobi_input_mesh);
    hakobi_mesh_part part = HAKOBI_INIT(hakobi_mesh_part);
    double *p, *velocity, sum = 0, total = 0;
    int64_t i;
    check(hakobi_input_open(comm, prefix, NULL, &in));
    check(hakobi_input_get_mesh(in, -1, &mesh));
    check(hakobi_input_read_mesh(in, -1, &part));
    p = read_cells(in, "p", 1, &mesh, &part);
    velocity = read_cells(in, "U", 3, &mesh, &part);
    for (i = 0; i < part.num_cells; ++i)
        sum += p[i] * part.points[3 * part.connectivity[part.offsets[i + 1] - 1]] + velocity[3 * i + 2];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (hakobi_comm_rank(comm) == 0)
        printf("mesh: %lld points, %lld cells, %lld pieces: %.3f\n", (long long)mesh.num_points,
               (long long)mesh.num_cells, (long long)mesh.num_pieces, total);
    hakobi_mesh_part_free(&part);
    free(p);
    free(velocity);
    check(hakobi_input_close(in));
    hakobi_input_free(in);
}

int main(int argc, char** argv) {
    hakobi_comm* comm = NULL;
    const char* prefix = argc > 1 ? argv[1] : "mesh";
    MPI_Init(&argc, &argv);
    check(hakobi_comm_duplicate(MPI_COMM_WORLD, &comm));
    write_steps(comm, prefix, argc > 2 ? argv[2] : "auto");
    read_back(comm, prefix);
    check(hakobi_comm_free(comm));
    MPI_Finalize();
    return 0;
}
