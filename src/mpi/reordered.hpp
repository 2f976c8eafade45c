#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpi {

/// Collective over `comm`: the same ranks, in the order of `place`, which differs on all of them.
[[nodiscard]] Comm reordered(const Comm& comm, int place);

}  // namespace hakobi::mpi
