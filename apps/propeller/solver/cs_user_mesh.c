/* The last of the solver's mesh calls before rotor and stator are joined, taken to keep the parts that are
 * written. */
#include "cs_defs.h"

#include "cs_mesh.h"
#include "cs_mesh_quantities.h"
#include "cs_prototypes.h"

#include "propeller_parts.h"

/* The joined mesh is not wanted as a file. */
void cs_user_mesh_save(cs_mesh_t* mesh) {
    mesh->save_if_modified = 0;
}

void cs_user_mesh_bad_cells_tag(cs_mesh_t* mesh, cs_mesh_quantities_t* quantities) {
    static bool is_taken = false;
    (void)quantities;
    if (!is_taken) propeller_take_parts(mesh);
    is_taken = true;
}
