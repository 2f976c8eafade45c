/* Uniform water flows in at the front and along the side, and out at the back. Blades and hub are walls; that
 * they turn with the rotor's cells is the rotor model's part. */
#include "cs_defs.h"

#include "bft_mem.h"

#include "cs_field.h"
#include "cs_field_pointer.h"
#include "cs_mesh.h"
#include "cs_parameters.h"
#include "cs_prototypes.h"
#include "cs_selector.h"
#include "cs_turbulence_bc.h"

#include "propeller_setting.h"

static const double turbulence_intensity = 0.02;

static void set_type(const char* faces, int type, int bc_type[]) {
    const cs_mesh_t* mesh = cs_glob_mesh;
    cs_lnum_t num_faces = 0, *face_ids = NULL;
    BFT_MALLOC(face_ids, mesh->n_b_faces, cs_lnum_t);
    cs_selector_get_b_face_list(faces, &num_faces, face_ids);
    for (cs_lnum_t i = 0; i < num_faces; i++) bc_type[face_ids[i]] = type;
    BFT_FREE(face_ids);
}

void cs_user_boundary_conditions(int nvar, int bc_type[], int icodcl[], cs_real_t rcodcl[]) {
    const cs_mesh_t* mesh = cs_glob_mesh;
    const cs_lnum_t num_b_faces = mesh->n_b_faces;
    const int velocity = cs_field_get_key_int(CS_F_(vel), cs_field_key_id("variable_id")) - 1;
    const double inflow = propeller_inflow_m_s();
    /* At J near 0 nothing flows in: turbulence is that of a tenth of the flow at J = 1. */
    const propeller_setting* setting = propeller_get_setting();
    const double least = 0.1 * setting->revolutions_per_s * setting->diameter_m;
    const double reference = inflow > least ? inflow : least;

    (void)nvar;
    (void)icodcl;
    set_type(PROPELLER_WALLS, CS_SMOOTHWALL, bc_type);
    set_type(PROPELLER_OUTLET, CS_OUTLET, bc_type);
    set_type(PROPELLER_FREE_STREAM, CS_INLET, bc_type);
    for (cs_lnum_t face = 0; face < num_b_faces; face++) {
        if (bc_type[face] != CS_INLET) continue;
        rcodcl[velocity * num_b_faces + face] = inflow;
        rcodcl[(velocity + 1) * num_b_faces + face] = 0.0;
        rcodcl[(velocity + 2) * num_b_faces + face] = 0.0;
        cs_turbulence_bc_inlet_turb_intensity(face, reference * reference, turbulence_intensity,
                                              0.1 * setting->diameter_m, rcodcl);
    }
}
