#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// Placeholders: what a program holds for a file that the MPI library has not opened. A placeholder is a
/// handle of the MPI library for this rank alone, on /dev/full, so that the library's functions that only
/// need a handle (error handlers, Fortran's numbers) work. An access by a function that was looked up in the
/// library itself does not seem to succeed: the mode allows no read, nor, in ROMIO, a write, and OMPIO says
/// on stderr that the device is full.
///
/// Returns one with the default error handler, used before or opened; MPI_FILE_NULL where the library gives
/// none. Those that no file uses are closed when MPI_Finalize begins. Local; any thread; MPI_Init has been
/// called.
[[nodiscard]] MPI_File take_placeholder();
/// The file is closed. `is_as_new`: the placeholder may serve another one; else it is closed. Local; any
/// thread.
void give_back_placeholder(MPI_File handle, bool is_as_new);

}  // namespace hakobi::mpiio
