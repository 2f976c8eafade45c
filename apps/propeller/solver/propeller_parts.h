/* The parts that are written: the rotor's cells, the stator's cells, and the faces of blades and hub, each
 * with the points of this rank, as they stood before rotor and stator were joined: there all cells are
 * tetrahedra. */
#ifndef PROPELLER_PARTS_H
#define PROPELLER_PARTS_H

#include <stdint.h>

#include "cs_defs.h"
#include "cs_mesh.h"

typedef struct {
    const char* name;      /* "rotor", "stator", "wall" */
    int points_of_element; /* 4 of tetrahedra, 3 of triangles */
    uint8_t vtk_type;
    bool turns; /* with the rotor, where that turns */
    cs_lnum_t num_elements;
    cs_lnum_t* cells; /* the cell of each element; of a face: behind it */
    cs_lnum_t num_points;
    double* points;        /* x, y, z at angle 0 */
    int32_t* connectivity; /* numbers of points, from 0 */
    int32_t* offsets;      /* num_elements + 1 */
    uint8_t* types;
} propeller_part;

enum { PROPELLER_ROTOR, PROPELLER_STATOR, PROPELLER_WALL, PROPELLER_NUM_PARTS };

/* Takes the parts out of the mesh as it is read and numbered, before rotor and stator are joined. Local. A
 * cell that is no tetrahedron ends the program. */
void propeller_take_parts(const cs_mesh_t* mesh);
/* The part; its points turned by an angle in radians about -x, in memory that lives until the next call for
 * it. */
const propeller_part* propeller_get_part(int part);
const double* propeller_turned_points(int part, double angle);
void propeller_free_parts(void);

#endif
