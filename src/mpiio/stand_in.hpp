#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// A handle of the MPI library for this rank alone, on a file that nobody moves bytes of: what a program holds for a file
/// that the library has not opened. The library's functions that only know handles (error handlers, Fortran's numbers) work
/// on it. An access that reaches it, by a function that was looked up in the library itself, does not seem to succeed: the
/// mode allows no read, nor, in ROMIO, a write, and OMPIO says on stderr that the device is full. They are used for one file after another, with the default error handler anew, and closed when MPI_Finalize
/// begins. Local; any thread. MPI_FILE_NULL where the library gives none.
[[nodiscard]] MPI_File take_stand_in();
/// `is_as_new`: it may serve again.
void give_back_stand_in(MPI_File handle, bool is_as_new);

}  // namespace hakobi::mpiio
