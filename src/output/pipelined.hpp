#pragma once

#include "output/method.hpp"

namespace hakobi::output {

/// Hakobi's engine: one collective write a step, of all fields at once, so that the pipeline fills and drains
/// once. All steps use the buffers and threads of the communicator's crew (io/crew.hpp); several hidden ones
/// are on their way at once as far as its buffers hold them.
Result<std::unique_ptr<Method>> make_pipelined(const MethodSettings& settings);

}  // namespace hakobi::output
