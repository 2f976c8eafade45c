#pragma once

#include "output/method.hpp"

namespace hakobi::output {

/// Every rank writes its part of the one file at once: a file view of its values and MPI_File_write_at_all
/// for each array, as the linked MPI library does it.
///
/// Open MPI 4's own component (OMPIO) prints a failed write and returns success; the count of its call by
/// address is right, which two ranks see, and three may hang. So failures that can be foreseen are looked for
/// first: where the free space looks short, rank 0 asks for all of it before any value moves.
Result<std::unique_ptr<Method>> make_parallel(const MethodSettings& settings);

}  // namespace hakobi::output
