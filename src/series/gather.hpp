#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"

namespace hakobi::series {

/// Local: makes `<file>` of the folder `<file>.pieces` and removes the folder; completes what a killed call
/// left. Memory is bounded by `buffer_bytes` and a few hundred bytes a piece. Everything stays, with format,
/// when a piece is missing, torn or damaged, the pieces are not of one step, or a file of that name holds
/// something else; with exists, when another process gathers the folder. The caller has seen to it that no
/// run writes the prefix.
Status gather_folder(const std::string& folder, std::int64_t buffer_bytes, bool sync);

}  // namespace hakobi::series
