#pragma once

#include <hdf5.h>

#include "format/growing_format.hpp"

namespace hakobi::format {

/// NetCDF-4 files whose unlimited dimension `time` has all their steps (hdf5/growing.hpp); in all else they
/// are what netcdf4.cpp lays out.
[[nodiscard]] const GrowingFormat& growing_netcdf4();

/// CF's global attributes of a step, and netCDF's own. Throws Hdf5Failure.
void put_global_attributes(hid_t file, const StepDescription& step);

}  // namespace hakobi::format
