#pragma once

#include "format/series_format.hpp"

namespace hakobi::format {

/// NetCDF-4 files that show a series; series.cpp says what is in them.
[[nodiscard]] const SeriesFormat& series_netcdf4();

}  // namespace hakobi::format
