#include "propeller_output.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

#include "cs_defs.h"

#include "bft_error.h"
#include "bft_mem.h"

#include "cs_field.h"
#include "cs_field_pointer.h"

#include "hakobi.h"

#include "propeller_parts.h"
#include "propeller_setting.h"

static hakobi_comm* comm = NULL;
static hakobi_output* outputs[PROPELLER_NUM_PARTS];
static int64_t pressure_ids[PROPELLER_NUM_PARTS], velocity_ids[PROPELLER_NUM_PARTS];
static cs_real_t *pressures[PROPELLER_NUM_PARTS], *velocities[PROPELLER_NUM_PARTS];
static bool is_mesh_put = false;

static void check(int code, const char* what) {
    if (code != 0) bft_error(__FILE__, __LINE__, 0, "%s: %s", what, hakobi_error_text());
}

static int64_t define(int number, const char* name, const char* units, int num_components) {
    hakobi_field_definition field = HAKOBI_INIT(hakobi_field_definition);
    int64_t id = 0;
    field.name = name;
    field.units = units;
    field.on = HAKOBI_ON_CELLS;
    field.num_components = num_components;
    check(hakobi_output_define(outputs[number], &field, &id), "defining a field");
    return id;
}

void propeller_output_open(void) {
    const propeller_setting* setting = propeller_get_setting();
    hakobi_output_options options = HAKOBI_INIT(hakobi_output_options);
    options.format = "vtkhdf";
    options.method = setting->method;
    options.sync = setting->sync ? HAKOBI_YES : HAKOBI_NO;
    check(hakobi_comm_duplicate(cs_glob_n_ranks > 1 ? cs_glob_mpi_comm : MPI_COMM_WORLD, &comm),
          "duplicating the communicator");
    for (int number = 0; number < PROPELLER_NUM_PARTS; number++) {
        const propeller_part* part = propeller_get_part(number);
        char prefix[4096];
        snprintf(prefix, sizeof prefix, "%s_%s", setting->output, part->name);
        check(hakobi_output_create(comm, prefix, &options, &outputs[number]), "opening the output");
        pressure_ids[number] = define(number, "pressure", "Pa", 1);
        if (number != PROPELLER_WALL) velocity_ids[number] = define(number, "velocity", "m s-1", 3);
        BFT_MALLOC(pressures[number], part->num_elements, cs_real_t);
        BFT_MALLOC(velocities[number], 3 * (size_t)part->num_elements, cs_real_t);
    }
}

/* The cells' values in the order of the part's elements. */
static void gather(int number) {
    const propeller_part* part = propeller_get_part(number);
    const cs_real_t* pressure = CS_F_(p)->val;
    const cs_real_3_t* velocity = (const cs_real_3_t*)CS_F_(vel)->val;
    for (cs_lnum_t i = 0; i < part->num_elements; i++) {
        pressures[number][i] = pressure[part->cells[i]];
        for (int k = 0; k < 3; k++) velocities[number][3 * (size_t)i + k] = velocity[part->cells[i]][k];
    }
}

static void put_mesh(int number, const double* points) {
    const propeller_part* part = propeller_get_part(number);
    const bool moves = part->turns && propeller_get_setting()->turns;
    if (is_mesh_put) {
        if (moves)
            check(hakobi_output_put_points(outputs[number], HAKOBI_FLOAT64, points, 0), "putting points");
        return;
    }
    check(hakobi_output_put_mesh(outputs[number],
                                 &(hakobi_mesh){.struct_size = sizeof(hakobi_mesh),
                                                .motion = moves ? HAKOBI_MESH_MOVES : HAKOBI_MESH_FIXED,
                                                .points_type = HAKOBI_FLOAT64,
                                                .num_points = part->num_points,
                                                .points = points,
                                                .num_cells = part->num_elements,
                                                .types = part->types,
                                                .offsets_type = HAKOBI_INT32,
                                                .offsets = part->offsets,
                                                .connectivity_type = HAKOBI_INT32,
                                                .connectivity = part->connectivity}),
          "putting the mesh");
}

void propeller_output_write(double time_s, double angle) {
    for (int number = 0; number < PROPELLER_NUM_PARTS; number++) {
        const bool moves = propeller_get_part(number)->turns && propeller_get_setting()->turns;
        gather(number);
        check(hakobi_output_begin_step(outputs[number], time_s), "beginning a step");
        put_mesh(number, propeller_turned_points(number, moves ? angle : 0.0));
        check(hakobi_output_put_values(outputs[number], pressure_ids[number], NULL, pressures[number], NULL),
              "putting the pressure");
        if (number != PROPELLER_WALL)
            check(hakobi_output_put_values(outputs[number], velocity_ids[number], NULL, velocities[number],
                                           NULL),
                  "putting the velocity");
        check(hakobi_output_end_step(outputs[number]), "writing a step");
    }
    is_mesh_put = true;
}

void propeller_output_close(void) {
    for (int number = 0; number < PROPELLER_NUM_PARTS; number++) {
        if (outputs[number] == NULL) continue;
        check(hakobi_output_close(outputs[number]), "closing the output");
        hakobi_output_free(outputs[number]);
        outputs[number] = NULL;
        BFT_FREE(pressures[number]);
        BFT_FREE(velocities[number]);
    }
    check(hakobi_comm_free(comm), "freeing the communicator");
    comm = NULL;
}
