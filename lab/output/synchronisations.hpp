#pragma once

namespace hakobi::bench {

/// How many collective calls of MPI this rank has made, by whatever library: synchronisations.cpp stands in
/// front of MPI's. One of MPI-IO counts once, whatever it does inside.
[[nodiscard]] int num_collective_calls();

}  // namespace hakobi::bench
