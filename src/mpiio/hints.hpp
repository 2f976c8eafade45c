#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <string>
#include <vector>

#include "io/engine.hpp"
#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// The hints of `info` that the engine knows or that start with "hakobi_"; everything else is the MPI
/// library's. Local; MPI_INFO_NULL has none.
[[nodiscard]] Hints hints_of_info(MPI_Info info);

/// MPI_File_set_info, and the info of MPI_File_set_view: takes new hints over the file's. Without effect
/// where the file has an engine, which does not change under way. Local.
void take_hints(OpenFile& file, MPI_Info info);

/// The options that the file's hints give, over HAKOBI_HINTS, over the defaults. A hint that cannot be read
/// is not used, since MPI has hints ignored, never refused; where `speaks`, a line on stderr says so. Local.
[[nodiscard]] io::EngineOptions local_options(const OpenFile& file, bool speaks);

/// The options that these hints of a program give so; `said` gets a line for each that cannot be read. Local.
[[nodiscard]] io::EngineOptions options_of(const Hints& hints, std::vector<std::string>& said);

/// Adds what the file's layout is, in the hints' words, to what MPI_File_get_info returns. Local.
void add_layout_to_info(const FileFacts& facts, MPI_Info info);

/// Adds the engine's values in force to what MPI_File_get_info returns, except those by which a library may
/// lay out files. Local.
void add_to_info(const io::EngineOptions& options, MPI_Info info);

}  // namespace hakobi::mpiio
