#pragma once

#include <cstdint>

#include "format/step.hpp"

namespace hakobi::format {

/// Where large fields begin in a file: at multiples of a power of two, 1 MiB (a common stripe) at most, so small that all holes
/// together are less than 1/64 of the values. Not where there are chunks, each of which would be aligned. Pure.
[[nodiscard]] std::int64_t alignment_of(const StepDescription& step);

}  // namespace hakobi::format
