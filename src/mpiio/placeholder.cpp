#include "mpiio/placeholder.hpp"

#include <mutex>
#include <vector>

#include "mpi/at_finalize.hpp"
#include "mpiio/library.hpp"

namespace hakobi::mpiio {
namespace {

struct Unused {
    std::mutex mutex;
    std::vector<MPI_File> handles;
};

Unused& unused() {
    static auto* const the_unused = new Unused;  // MPI_Finalize may come after static destructors
    return *the_unused;
}

void close_unused() {
    std::vector<MPI_File> handles;
    {
        const std::lock_guard lock(unused().mutex);
        handles.swap(unused().handles);
    }
    const Inside inside;
    for (MPI_File& handle : handles) library.File_close(&handle);
}

void close_unused_at_finalize() {
    static std::once_flag once;
    std::call_once(once, [] { mpi::at_finalize(mpi::FinalizeStage::local, close_unused); });
}

}  // namespace

MPI_File take_placeholder() {
    MPI_File handle = MPI_FILE_NULL;
    {
        const std::lock_guard lock(unused().mutex);
        if (!unused().handles.empty()) {
            handle = unused().handles.back();
            unused().handles.pop_back();
        }
    }
    if (handle == MPI_FILE_NULL) {
        const Inside inside;
        if (open_by_library(MPI_COMM_SELF, "/dev/full", MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL,
                            &handle) != MPI_SUCCESS)
            return MPI_FILE_NULL;
        close_unused_at_finalize();
    }
    MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
    if (PMPI_File_get_errhandler(MPI_FILE_NULL, &handler) == MPI_SUCCESS) {
        PMPI_File_set_errhandler(handle, handler);
        if (handler != MPI_ERRHANDLER_NULL) PMPI_Errhandler_free(&handler);
    }
    return handle;
}

void give_back_placeholder(MPI_File handle, bool is_as_new) {
    if (!is_as_new) {
        const Inside inside(handle);
        library.File_close(&handle);
        return;
    }
    const std::lock_guard lock(unused().mutex);
    unused().handles.push_back(handle);
}

}  // namespace hakobi::mpiio
