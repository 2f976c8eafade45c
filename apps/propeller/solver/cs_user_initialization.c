/* The first state: the inflow everywhere. */
#include "cs_defs.h"

#include "cs_domain.h"
#include "cs_field.h"
#include "cs_field_pointer.h"
#include "cs_prototypes.h"
#include "cs_restart.h"

#include "propeller_setting.h"

void cs_user_initialization(cs_domain_t* domain) {
    cs_real_3_t* velocity = (cs_real_3_t*)CS_F_(vel)->val;
    if (cs_restart_present()) return;
    for (cs_lnum_t cell = 0; cell < domain->mesh->n_cells; cell++) {
        velocity[cell][0] = propeller_inflow_m_s();
        velocity[cell][1] = 0.0;
        velocity[cell][2] = 0.0;
    }
}
