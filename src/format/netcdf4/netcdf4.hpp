#pragma once

#include "format/format.hpp"

namespace hakobi::format {

/// NetCDF-4 with CF's conventions: one file a step, and one that shows all of a series.
[[nodiscard]] const Format& netcdf4();

}  // namespace hakobi::format
