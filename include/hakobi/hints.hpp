#pragma once

#include <hakobi/export.hpp>
#include <map>
#include <string>

namespace hakobi {

/// Hints by name, as MPI_Info has them: MPI-IO's own names (cb_nodes, cb_buffer_size, striping_unit, …) and ours,
/// which start with `hakobi_`. docs/hints.md lists each with its default. HAKOBI_HINTS="name=value;…" in the
/// environment sets defaults, what a call passes overrides it, and an unknown name is a warning on rank 0.
using Hints = std::map<std::string, std::string>;

}  // namespace hakobi
