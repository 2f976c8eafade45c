#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>

#include "io/engine.hpp"
#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// The hints of `info` that the engine knows or that start with "hakobi_"; everything else is the MPI
/// library's. Local; MPI_INFO_NULL has none.
[[nodiscard]] Hints hints_of_info(MPI_Info info);

/// The options of the file's hints over HAKOBI_HINTS over the defaults. What cannot be read is a warning where `speaks`, and
/// the rest holds: MPI has hints ignored, never refused. Local.
[[nodiscard]] io::EngineOptions local_options(const OpenFile& file, bool speaks);

/// Adds the values in force to what MPI_File_get_info returns, but for those that a library may lay files out
/// by. Local.
void add_to_info(const io::EngineOptions& options, MPI_Info info);

/// Gives the hints that `info` has the values that they have in `over`, as MPI_File_get_info would show hints of a view
/// that the library does not have yet. Local.
void overlay_info(MPI_Info over, MPI_Info info);

/// Sets all that `over` has in `info`. Local.
void set_in_info(MPI_Info over, MPI_Info info);

}  // namespace hakobi::mpiio
