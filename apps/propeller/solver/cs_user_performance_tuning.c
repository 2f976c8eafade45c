/* Cells are given to ranks along a space-filling curve: equal runs get equal parts, so that their files can
 * be compared. */
#include "cs_defs.h"

#include "cs_partition.h"
#include "cs_prototypes.h"

void cs_user_partition(void) {
    cs_partition_set_algorithm(CS_PARTITION_MAIN, CS_PARTITION_SFC_MORTON_BOX, 1, false);
}
