#pragma once

#include <hakobi/error.hpp>

namespace hakobi::mpi {

/// Ends all ranks with the error as one line on stderr and status 1, whether MPI is initialised or not. An
/// error that all ranks of a communicator have (its rank is not -1) is printed by one of them: all call this.
[[noreturn]] void end_with(const Error& error);

}  // namespace hakobi::mpi
