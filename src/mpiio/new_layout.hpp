#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// Whether MPI_File_open in this mode will make a file on a storage with layouts to choose. Local, rank 0's.
[[nodiscard]] bool makes_file_with_layout(const char* name, int mode);

/// Makes that file on rank 0, empty, with the layout of the hints of rank 0's `info` or one that suits the
/// nodes of `comm` (io/new_file.hpp). Returns on rank 0 whether it was made; else it is to be made as usual.
/// The library then opens a file that is there: not in MPI_MODE_EXCL. Collective over `comm`.
[[nodiscard]] bool make_file_with_layout(MPI_Comm comm, const char* name, MPI_Info info);

}  // namespace hakobi::mpiio
