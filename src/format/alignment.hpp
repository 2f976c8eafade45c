#pragma once

#include <cstdint>

#include "format/step.hpp"

namespace hakobi::format {

/// Returns the power of two at whose multiples large fields begin in the step's file: at most 1 MiB (a common
/// stripe), and so small that all gaps together take less than 1/64 of the values' size; 1 with compressed
/// fields, since each chunk would be aligned. Pure.
[[nodiscard]] std::int64_t alignment_of(const StepDescription& step);

}  // namespace hakobi::format
