#pragma once

namespace hakobi::mpiio {

/// Whether any program or library in this process may call a function of the shared file pointer
/// (`MPI_File_write_shared`, `…_ordered`, `MPI_File_seek_shared`, …): whether one that is loaded by now
/// imports such a name. The MPI library, its Fortran layers and profiling tools import the names that they
/// also define; they call them for others only and do not count. True where it cannot be told. Local,
/// thread-safe.
[[nodiscard]] bool may_use_shared_pointers();

/// The same of the nonblocking and split collectives (`MPI_File_iwrite_all`, `MPI_File_read_at_all_begin`,
/// …).
[[nodiscard]] bool may_use_queue();

}  // namespace hakobi::mpiio
