#pragma once

#include <hdf5.h>

#include <memory>
#include <string>

#include "format/growing_file.hpp"

namespace hakobi::format {

/// A NetCDF-4 file whose unlimited dimension `time` has all its steps (hdf5/growing.hpp); in all else it is
/// what netcdf4.cpp lays out.
[[nodiscard]] std::unique_ptr<GrowingFile> begin_file_netcdf4();
Result<std::unique_ptr<GrowingFile>> resume_file_netcdf4(const std::string& path,
                                                         const StepDescription& next);

/// CF's global attributes of a step, and netCDF's own. Throws Hdf5Failure.
void put_global_attributes(hid_t file, const StepDescription& step);

}  // namespace hakobi::format
