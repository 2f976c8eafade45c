#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace hakobi::output {

/// Local: makes `<file>` of the folder `<file>.pieces`, whatever file stands there, and removes the folder; completes
/// what a killed call left. Memory is bounded by
/// `buffer_bytes` and a few hundred bytes a piece. format, and everything stays, when a piece is missing,
/// torn or damaged, or the pieces are not of one step.
Status gather_folder(const std::string& folder, std::int64_t buffer_bytes, bool sync);

}  // namespace hakobi::output
