#pragma once

#include <hakobi/comm.hpp>

#include "options.hpp"

namespace hakobi::tsunami {

/// An error of the input, found before the run began: the program's exit status is 2.
struct InputError {
    std::string text;
};

/// The whole simulation: reads the inputs, computes, writes the steps, prints the summary and appends the
/// record on rank 0. Collective over `comm`. Throws InputError for inputs that cannot be used (alike on every
/// rank), Error for what the output met on the way.
void run(const Comm& comm, const Options& options);

}  // namespace hakobi::tsunami
