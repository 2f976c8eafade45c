/* Takes a step's result: thrust and torque are summed, and the step is written. `time_s` of the record is the
 * time from the first step's beginning to the last output's end, of the slowest rank. */
#include "cs_defs.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bft_mem.h"

#include "cs_base.h"
#include "cs_domain.h"
#include "cs_field.h"
#include "cs_mesh.h"
#include "cs_mesh_quantities.h"
#include "cs_parall.h"
#include "cs_prototypes.h"
#include "cs_selector.h"
#include "cs_timer.h"

#include "propeller_output.h"
#include "propeller_parts.h"
#include "propeller_setting.h"

static double begin_s = 0.0;
static double k_t = 0.0, k_q = 0.0;

static bool is_hakobi(void) {
    const propeller_setting* setting = propeller_get_setting();
    return setting->output_every > 0 && strcmp(setting->method, "none") != 0 &&
           strcmp(setting->method, "own") != 0;
}

/* K_T = T / (rho n^2 D^4) and K_Q = Q / (rho n^2 D^5) of the blades, from pressure and friction: the field
 * has the water's forces on its boundary faces. Thrust points to -x, and the torque brakes the turning about
 * -x. A turning rotor's mesh is made anew in every step: the solver's global pointers have it. */
static void sum_forces(void) {
    const cs_mesh_t* mesh = cs_glob_mesh;
    const cs_real_3_t* centres = (const cs_real_3_t*)cs_glob_mesh_quantities->b_face_cog;
    const cs_field_t* field = cs_field_by_name("boundary_forces");
    const cs_real_3_t* forces = (const cs_real_3_t*)field->val;
    const propeller_setting* setting = propeller_get_setting();
    const double n = setting->revolutions_per_s, d = setting->diameter_m;
    const double unit = PROPELLER_DENSITY_KG_M3 * n * n * d * d * d * d;
    cs_real_t sums[2] = {0.0, 0.0};
    cs_lnum_t num_faces = 0, *face_ids = NULL;
    BFT_MALLOC(face_ids, mesh->n_b_faces, cs_lnum_t);
    cs_selector_get_b_face_list(PROPELLER_BLADES, &num_faces, face_ids);
    for (cs_lnum_t i = 0; i < num_faces; i++) {
        const cs_real_t *force = forces[face_ids[i]], *at = centres[face_ids[i]];
        sums[0] -= force[0];
        sums[1] += at[1] * force[2] - at[2] * force[1];
    }
    BFT_FREE(face_ids);
    cs_parall_sum(2, CS_DOUBLE, sums);
    k_t = sums[0] / unit;
    k_q = sums[1] / (unit * d);
}

static void tell_history(const cs_time_step_t* time) {
    const propeller_setting* setting = propeller_get_setting();
    FILE* file = NULL;
    if (cs_glob_rank_id > 0 || setting->history[0] == '\0') return;
    file = fopen(setting->history, "a");
    if (file == NULL) return;
    fprintf(file, "{\"step\": %d, \"time_s\": %.9g, \"advance\": %.9g, \"k_t\": %.9g, \"k_q\": %.9g}\n",
            time->nt_cur, time->t_cur, setting->advance, k_t, k_q);
    fclose(file);
}

void cs_user_extra_operations_initialize(cs_domain_t* domain) {
    (void)domain;
    if (is_hakobi()) propeller_output_open();
    cs_parall_sum(1, CS_DOUBLE, &(cs_real_t){0.0});
    begin_s = cs_timer_wtime();
}

void cs_user_extra_operations(cs_domain_t* domain) {
    const propeller_setting* setting = propeller_get_setting();
    const cs_time_step_t* time = domain->time_step;
    sum_forces();
    tell_history(time);
    if (is_hakobi() && time->nt_cur > 0 && time->nt_cur % setting->output_every == 0)
        propeller_output_write(time->t_cur, setting->turns ? propeller_omega_rad_s() * time->t_cur : 0.0);
}

void cs_user_extra_operations_finalize(cs_domain_t* domain) {
    const propeller_setting* setting = propeller_get_setting();
    cs_real_t time_s = 0.0;
    if (is_hakobi()) propeller_output_close();
    time_s = cs_timer_wtime() - begin_s;
    cs_parall_max(1, CS_DOUBLE, &time_s);
    if (cs_glob_rank_id <= 0 && setting->json[0] != '\0') {
        FILE* file = fopen(setting->json, "a");
        if (file != NULL) {
            fprintf(file,
                    "{\"time_s\": %.6f, \"steps\": %d, \"cells\": %llu, \"advance\": %.9g, \"k_t\": %.9g, "
                    "\"k_q\": %.9g, "
                    "\"bytes_depend_on_ranks\": true}\n",
                    time_s, domain->time_step->nt_cur - domain->time_step->nt_prev,
                    (unsigned long long)cs_glob_mesh->n_g_cells, setting->advance, k_t, k_q);
            fclose(file);
        }
    }
    propeller_free_parts();
}
