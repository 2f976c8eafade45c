#pragma once

#include <cstdint>

#include "region/region.hpp"

namespace hakobi {

/// The bytes of an ordered region together with its gaps of at most `most_gap_bytes`: what accesses move that
/// join pieces over such gaps. Its cost is that of the description: a list of pieces is looked through. Pure.
[[nodiscard]] std::int64_t bytes_with_gaps(const Region& region, std::int64_t most_gap_bytes);

}  // namespace hakobi
