#include "mpiio/library.hpp"

#include <dlfcn.h>

#include <cstring>

#include "mpiio/binding.h"

namespace hakobi::mpiio {

Library library;
thread_local Inside::Calls Inside::calls_ = {};

std::size_t Inside::live(const void* here) noexcept {
    // Stacks grow towards lower addresses.
    while (calls_.size != 0 && calls_.size <= most && calls_.at[calls_.size - 1].frame <= here) --calls_.size;
    return calls_.size;
}

int open_by_library(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file) {
    const int error = library.File_open(comm, name, mode, info, file);
    MPI_Errhandler counted = MPI_ERRHANDLER_NULL;  // the file's
    if (error == MPI_SUCCESS && !library.is_open_mpi) PMPI_File_get_errhandler(*file, &counted);
    return error;
}

const char* library_name() {
    static const char* const name = [] {
        static char text[MPI_MAX_LIBRARY_VERSION_STRING] = "the MPI library";
        int length = 0;
        PMPI_Get_library_version(text, &length);
        text[std::strcspn(text, ",\n")] = '\0';
        for (char& c : text) c = c == '\t' ? ' ' : c;
        return text;
    }();
    return name;
}

}  // namespace hakobi::mpiio

extern "C" const char* hakobi_mpiio_start(void* mpi_library) {
    using hakobi::mpiio::library;
#ifdef HAKOBI_BINDS_MPI
    if (const char* const missing = hakobi_mpiio_bind(mpi_library)) return missing;
#endif
#define HAKOBI_LOOK_UP(name) \
    library.name = reinterpret_cast<decltype(library.name)>(dlsym(mpi_library, "PMPI_" #name));
#define HAKOBI_FILE_FUNCTION(name) HAKOBI_LOOK_UP(name)
#include "mpiio/functions.def"
#if MPI_VERSION >= 4
    HAKOBI_LOOK_UP(Type_get_envelope_c)
    HAKOBI_LOOK_UP(Type_get_contents_c)
#endif
    void* start = dlsym(mpi_library, "PMPIX_Grequest_start");
    if (start == nullptr) start = dlsym(mpi_library, "MPIX_Grequest_start");
    library.grequest_start = reinterpret_cast<decltype(library.grequest_start)>(start);
    library.progress_register =
        reinterpret_cast<decltype(library.progress_register)>(dlsym(mpi_library, "opal_progress_register"));
    library.is_open_mpi = std::strncmp(hakobi::mpiio::library_name(), "Open MPI", 8) == 0;
    return nullptr;
}
