#pragma once

#include "format/format.hpp"

namespace hakobi::format {

/// VTKHDF 1.0 of unstructured grids: one file a step.
[[nodiscard]] const Format& vtkhdf();

}  // namespace hakobi::format
