#pragma once

#include "output/method.hpp"

namespace hakobi::output {

/// Nothing is written: the run whose time is subtracted from every other's. A step costs only the all-reduce
/// that finds wrong calls.
Result<std::unique_ptr<Method>> make_none(const MethodSettings& settings);

}  // namespace hakobi::output
