#pragma once

#include <hakobi/export.hpp>
#include <map>
#include <string>

namespace hakobi {
inline namespace v0 {

/// Hints by name, as in MPI_Info: MPI-IO's (cb_nodes, cb_buffer_size, striping_unit, …) and Hakobi's, which
/// start with `hakobi_`. docs/hints.md lists them with their defaults. HAKOBI_HINTS="name=value;…" in the
/// environment sets defaults; hints of a call override it. An unknown name causes a warning on rank 0.
using Hints = std::map<std::string, std::string>;

}  // namespace v0
}  // namespace hakobi
