/* The rotor: its cells, its axis, and the surface where it meets the water around it. The screw turns about
 * -x. */
#include "cs_defs.h"

#include "cs_prototypes.h"
#include "cs_turbomachinery.h"

#include "propeller_setting.h"

void cs_user_turbomachinery(void) {
    cs_turbomachinery_set_model(propeller_get_setting()->turns ? CS_TURBOMACHINERY_TRANSIENT
                                                               : CS_TURBOMACHINERY_FROZEN);
}

void cs_user_turbomachinery_rotor(void) {
    const double axis[3] = {-1.0, 0.0, 0.0}, invariant[3] = {0.0, 0.0, 0.0};
    const float fraction = 0.2F, plane = 30.0F; /* of an edge's length; degrees between faces that may meet */
    cs_turbomachinery_add_rotor(PROPELLER_ROTOR_CELLS, propeller_omega_rad_s(), axis, invariant);
    (void)cs_turbomachinery_join_add(PROPELLER_INTERFACES, fraction, plane, 0, 0);
}
