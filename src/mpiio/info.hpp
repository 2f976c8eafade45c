#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/hints.hpp>
#include <string_view>

namespace hakobi::mpiio {

// MPI_Info objects as a whole. All functions are local; MPI_INFO_NULL has no entries.

/// The entries of `info` that `wants` takes by their name; all without it.
[[nodiscard]] Hints info_entries(MPI_Info info, bool (*wants)(std::string_view) = nullptr);
/// Sets in `info` all that `over` has.
void set_in_info(MPI_Info over, MPI_Info info);
/// Sets in `info` what both have to the values of `over`: what MPI_File_get_info would show of hints of a
/// view that the library does not have yet.
void overlay_info(MPI_Info over, MPI_Info info);

}  // namespace hakobi::mpiio
