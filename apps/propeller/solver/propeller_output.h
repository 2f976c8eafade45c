/* Steps written by Hakobi: pressure and velocity of the rotor's and the stator's cells, pressure behind
 * blades and hub. One output a part: PREFIX_rotor, PREFIX_stator, PREFIX_wall. All calls are collective over
 * the solver's ranks. */
#ifndef PROPELLER_OUTPUT_H
#define PROPELLER_OUTPUT_H

void propeller_output_open(void);
/* `angle`: how far the rotor's mesh has turned, in radians. */
void propeller_output_write(double time_s, double angle);
void propeller_output_close(void);

#endif
