#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// MPI_File_open. Where POSIX calls can open the file on all ranks and no call needs the library's handle
/// from the start, the program gets a placeholder, and the library opens the file when it needs to
/// (library_handles.hpp). Else the library opens it, and its errors are the program's. Collective over
/// `comm`. Returns an MPI error code, the handler of MPI_FILE_NULL called.
int open_file(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* handle);

/// MPI_File_close. No rank returns before all have called it. Collective over the file's communicator.
/// Returns an MPI error code, the file's error handler called.
int close_file(MPI_File* handle);

/// MPI_File_close by an error handler, within the call on this handle that failed: the caller still uses what
/// the drop-in knows of the file, which is kept. Returns an MPI error code.
int close_file_within_call(MPI_File* handle);

}  // namespace hakobi::mpiio
