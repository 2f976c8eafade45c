#pragma once

#include "output/method.hpp"

namespace hakobi::output {

/// Each rank writes its own piece of each step, and the step's file comes into being in close: the ranks
/// share the steps among them and gather each one's pieces (gather.hpp). The fastest way out of the solver,
/// paid at the end.
Result<std::unique_ptr<Method>> make_per_process(const MethodSettings& settings);

}  // namespace hakobi::output
