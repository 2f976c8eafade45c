#pragma once

#include <string>

namespace hakobi::mpi {

/// "SLURM_NTASKS is 2, but MPI says 1 rank: …" where the launcher has started several processes, of which
/// each is a rank 0 that is alone, and this is the first of them; else "". `variable` is as getenv. Pure.
[[nodiscard]] std::string words_of_singletons(int world_size, const char* (*variable)(const char* name));

}  // namespace hakobi::mpi
