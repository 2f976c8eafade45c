#pragma once

#include <hakobi/comm.hpp>

#include "options.hpp"

namespace hakobi::lattice {

/// An error of the input, found before the run began: the program's exit status is 2.
struct InputError {
    std::string text;
};

/// The whole program: reads or makes the links, solves for a point source, times the operator with each
/// exchange, prints and appends records on rank 0. Collective over `comm`. Throws InputError for inputs that
/// cannot be used (alike on every rank), Error for what went wrong on the way.
void run(const Comm& comm, const Options& options);

}  // namespace hakobi::lattice
