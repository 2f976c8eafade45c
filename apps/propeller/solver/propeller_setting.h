/* The settings of one run of the propeller, from environment variables (propeller_setting.c has their
 * names). */
#ifndef PROPELLER_SETTING_H
#define PROPELLER_SETTING_H

#include <stdbool.h>

typedef struct {
    double diameter_m;
    double revolutions_per_s;
    double advance;          /* J = U / (n D) */
    int num_steps;           /* the last step's number; a restarted run counts on */
    int output_every;        /* steps from one output to the next; 0: none */
    double degrees_per_step; /* how far the screw turns in a time step */
    bool turns;              /* the rotor's mesh turns; false: a frozen rotor in a rotating frame */
    const char* method;      /* of Hakobi's output; "none"; "own": the solver's EnSight writer */
    const char* output;      /* prefix of what is written */
    const char* json;        /* file that the run's record is appended to; "": none */
    const char* history;     /* file that thrust and torque of each step are appended to; "": none */
    bool keeps_checkpoint;   /* at the run's end, in its folder */
    bool sync;               /* output time holds until storage has the data */
} propeller_setting;

/* Read at the first call; a value that is no number ends the program. */
const propeller_setting* propeller_get_setting(void);

/* The speeds of the water that flows in, and of the screw, which turns about -x. */
double propeller_inflow_m_s(void);
double propeller_omega_rad_s(void);

/* Groups of the mesh (GROUPS of propeller/mesh.py), and criteria that select them. */
#define PROPELLER_ROTOR_CELLS "1"
#define PROPELLER_BLADES "11"
#define PROPELLER_HUB "12"
#define PROPELLER_WALLS "11 or 12"
#define PROPELLER_INTERFACES "13 or 24"
#define PROPELLER_FREE_STREAM "21 or 23"
#define PROPELLER_OUTLET "22"

#define PROPELLER_DENSITY_KG_M3 1000.0
#define PROPELLER_VISCOSITY_PA_S 1.0e-3

#endif
