#pragma once

#include <hakobi/comm.hpp>

#include "mpiio/open_file.hpp"

namespace hakobi::mpiio {

/// MPI_File_set_view. Where it can be, the view is held back from the library (library_handles.hpp), without
/// communication; arguments that look wrong are then tried on the rank's own handle, so that errors are the
/// library's. Collective over the file's communicator. Returns an MPI error code, the file's error handler
/// called.
int set_view(OpenFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info);

}  // namespace hakobi::mpiio
