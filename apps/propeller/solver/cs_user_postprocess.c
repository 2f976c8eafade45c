/* The solver's own writer: EnSight Gold, for the method "own" only. It writes the same as Hakobi's methods:
 * all cells with pressure and velocity, blades and hub with pressure. */
#include "cs_defs.h"

#include <string.h>

#include "bft_mem.h"

#include "cs_field.h"
#include "cs_field_pointer.h"
#include "cs_mesh.h"
#include "cs_post.h"
#include "cs_prototypes.h"
#include "cs_selector.h"

#include "propeller_setting.h"

enum { WRITER = 1, VOLUME = 1, WALL = 2 };

static bool is_own(void) {
    return strcmp(propeller_get_setting()->method, "own") == 0;
}

void cs_user_postprocess_writers(void) {
    const propeller_setting* setting = propeller_get_setting();
    /* The default writer would write beside it. */
    cs_post_define_writer(CS_POST_WRITER_DEFAULT, "none", "none", "EnSight Gold", "", FVM_WRITER_FIXED_MESH,
                          false, false, -1, -1.0);
    if (is_own())
        cs_post_define_writer(WRITER, "propeller", setting->output, "EnSight Gold", "binary, separate_meshes",
                              setting->turns ? FVM_WRITER_TRANSIENT_CONNECT : FVM_WRITER_FIXED_MESH, false,
                              false, setting->output_every > 0 ? setting->output_every : -1, -1.0);
}

void cs_user_postprocess_meshes(void) {
    const int writers[] = {WRITER}, nothing[] = {CS_POST_WRITER_DEFAULT};
    cs_post_define_volume_mesh(CS_POST_MESH_VOLUME, "none", "all[]", false, false, 0, nothing);
    cs_post_define_surface_mesh(CS_POST_MESH_BOUNDARY, "none", NULL, "all[]", false, false, 0, nothing);
    if (!is_own()) return;
    cs_post_define_volume_mesh(VOLUME, "water", "all[]", false, false, 1, writers);
    cs_post_define_surface_mesh(WALL, "wall", NULL, PROPELLER_WALLS, false, false, 1, writers);
}

void cs_user_postprocess_values(const char* mesh_name, int mesh_id, int cat_id, cs_probe_set_t* probes,
                                cs_lnum_t n_cells, cs_lnum_t n_i_faces, cs_lnum_t n_b_faces,
                                cs_lnum_t n_vertices, const cs_lnum_t cell_list[],
                                const cs_lnum_t i_face_list[], const cs_lnum_t b_face_list[],
                                const cs_lnum_t vertex_list[], const cs_time_step_t* ts) {
    (void)mesh_name, (void)cat_id, (void)probes, (void)n_cells, (void)n_i_faces, (void)n_vertices;
    (void)cell_list, (void)i_face_list, (void)vertex_list;
    if (!is_own()) return;
    if (mesh_id == VOLUME) {
        cs_post_write_var(mesh_id, WRITER, "pressure", 1, true, true, CS_POST_TYPE_cs_real_t, CS_F_(p)->val,
                          NULL, NULL, ts);
        cs_post_write_var(mesh_id, WRITER, "velocity", 3, true, true, CS_POST_TYPE_cs_real_t, CS_F_(vel)->val,
                          NULL, NULL, ts);
    } else if (mesh_id == WALL) {
        cs_real_t* pressure = NULL;
        BFT_MALLOC(pressure, n_b_faces, cs_real_t);
        for (cs_lnum_t i = 0; i < n_b_faces; i++)
            pressure[i] = CS_F_(p)->val[cs_glob_mesh->b_face_cells[b_face_list[i]]];
        cs_post_write_var(mesh_id, WRITER, "pressure", 1, true, false, CS_POST_TYPE_cs_real_t, NULL, NULL,
                          pressure, ts);
        BFT_FREE(pressure);
    }
}
