#pragma once

#include <hakobi/comm.hpp>
#include <hakobi/export.hpp>

/// The entry points of the drop-in: hakobi_X stands in front of MPI_X and PMPI_X and has their type and
/// contract, which is the MPI standard's. The front (front.c) looks them up by name. entry.hpp, opening.hpp
/// and set_view.hpp implement them.
extern "C" {
#define HAKOBI_FILE_FUNCTION(name) HAKOBI_EXPORT decltype(::PMPI_##name) hakobi_##name;
#include "mpiio/functions.def"
}
