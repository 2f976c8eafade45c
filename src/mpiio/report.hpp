#pragma once

#include <string_view>

#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// HAKOBI_PROFILE and HAKOBI_EXPLAIN: set to anything but "" and "0".
[[nodiscard]] bool wants_profile();
[[nodiscard]] bool wants_explanation();

/// With HAKOBI_EXPLAIN, rank 0 prints "hakobi: <file>: <text>" on stderr. Local.
void explain(const OpenFile& file, std::string_view text);

/// Explains why the library has the file as a whole, where it has. Local.
void explain_why_not(const OpenFile& file);

/// Prints what the engine did for the file and which calls went to the library, summed over the ranks, on
/// rank 0's stderr; the engine prints its own table before. For files with `is_reported`. Collective over the
/// file's communicator.
void report(const OpenFile& file);

}  // namespace hakobi::mpiio
