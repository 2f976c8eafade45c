#pragma once

#include <hdf5.h>

namespace hakobi::format {

/// Throws Hdf5Failure where a virtual data set shows itself, in whatever file it does so: HDF5 follows such a
/// loop until its stack ends. To be called before its extents or values are asked for. Nothing for other data
/// sets.
void refuse_loops(hid_t dataset);

}  // namespace hakobi::format
