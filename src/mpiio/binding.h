#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/// Binds the functions of library_functions.def to those of the MPI library that the handle is of, which
/// stays loaded. A tool's MPI_X comes before the library's, as for the program. Returns null, or the name of
/// a function that the library lacks. Before any other function of the drop-in is called.
__attribute__((visibility("hidden"))) const char* hakobi_mpiio_bind(void* mpi_library);

#ifdef __cplusplus
}
#endif
