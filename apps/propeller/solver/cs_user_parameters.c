/* Models and numerical parameters: water, k-epsilon with wall functions; SIMPLE with relaxation for a frozen
 * rotor, SIMPLEC with a constant time step for one that turns. */
#include "cs_defs.h"

#include "cs_domain.h"
#include "cs_field.h"
#include "cs_field_pointer.h"
#include "cs_parameters.h"
#include "cs_physical_constants.h"
#include "cs_prototypes.h"
#include "cs_restart.h"
#include "cs_time_step.h"
#include "cs_turbulence_model.h"

#include "propeller_setting.h"

void cs_user_model(void) {
    cs_get_glob_turb_model()->iturb = CS_TURB_K_EPSILON_LIN_PROD;
}

void cs_user_parameters(cs_domain_t* domain) {
    const propeller_setting* setting = propeller_get_setting();
    cs_time_step_options_t* options = cs_get_glob_time_step_options();
    cs_fluid_properties_t* water = cs_get_glob_fluid_properties();
    cs_var_cal_opt_t velocity;
    const double turn_s = 1.0 / setting->revolutions_per_s;

    water->ro0 = PROPELLER_DENSITY_KG_M3;
    water->viscl0 = PROPELLER_VISCOSITY_PA_S;

    domain->time_step->nt_max = setting->num_steps;
    domain->time_step->dt_ref = turn_s * setting->degrees_per_step / 360.0;
    /* A frozen rotor's flow is steady in its frame: relaxed iterations come to rest, time steps diverged
     * within two turns. */
    options->idtvar = setting->turns ? 0 : -1;
    options->relxst = 0.7;

    /* Upwind: centred convection of the velocity diverged on coarse tetrahedra at J 0.8. */
    cs_field_get_key_struct(CS_F_(vel), cs_field_key_id("var_cal_opt"), &velocity);
    velocity.blencv = 0.0;
    cs_field_set_key_struct(CS_F_(vel), cs_field_key_id("var_cal_opt"), &velocity);

    /* Iterative gradients: by least squares over these tetrahedra runs became unstable. */
    cs_get_glob_space_disc()->imrgra = 0;

    if (!setting->keeps_checkpoint) cs_restart_checkpoint_set_defaults(-2, -1.0, -1.0);
    cs_get_glob_turb_ref_values()->uref = 0.7 * 0.5 * setting->diameter_m * propeller_omega_rad_s();
}
