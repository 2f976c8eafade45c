#pragma once

#include "format/format.hpp"

namespace hakobi::format {

/// VTKHDF of unstructured grids: version 1.0 in one file a step, version 2.0 where a file takes several.
[[nodiscard]] const Format& vtkhdf();

}  // namespace hakobi::format
