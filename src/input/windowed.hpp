#pragma once

#include <cstddef>

#include "base/status.hpp"
#include "region/region.hpp"
#include "storage/file.hpp"

namespace hakobi::input {

/// Reads the n-th byte of `from` (offsets in the file, ordered) into the n-th byte of `to` (offsets from
/// `origin`); sizes are equal. Large pieces go straight to their place; small ones that are near each other
/// are read together, 8 MiB at a time at most. format where the file ends before. Local.
Status read_region(storage::File& file, const Region& from, std::byte* origin, const Region& to);

}  // namespace hakobi::input
