#pragma once

#include "format/format.hpp"

namespace hakobi::format {

/// Steps as one group of Zarr 3 a series: store.hpp describes it, array.hpp how a field is stored.
[[nodiscard]] const Format& zarr_v3();

}  // namespace hakobi::format
