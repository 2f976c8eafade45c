#pragma once

#include <string>

#include "base/status.hpp"
#include "format/found_step.hpp"

namespace hakobi::format {

/// Whether arrays of other files are looked at, or only named.
enum class Links { followed, left };

/// Reads what a VTKHDF file of an unstructured grid says of itself: of one step, or of those that Output has
/// put into one file. Local. not_found, permission; format where it is no such file, or torn; unsupported for
/// other types of VTKHDF.
Result<FoundStep> read_vtkhdf(const std::string& path, Links links);

}  // namespace hakobi::format
