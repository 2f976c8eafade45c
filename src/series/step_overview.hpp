#pragma once

#include <string>

#include "base/status.hpp"
#include "series/step.hpp"

namespace hakobi::series {

/// Writes the overview (src/overview/overview.hpp) of a step whose values are all in its temporary file at
/// `source_path`, and gives it its final name, which the step itself does not have yet: who sees the step
/// sees its overview. Fields in other than 2 or 3 dimensions and compressed ones are left out; without any
/// there is no overview. Local.
Status write_overview(const Step& step, const std::string& source_path, bool sync);

}  // namespace hakobi::series
