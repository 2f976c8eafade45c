#pragma once

#include <cstddef>
#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// The file functions of the MPI library underneath, by address: the names themselves lead back to the
/// drop-in, which stands in front of them (front.c). And those of MPI 4 that not every library of the ABI has
/// (MPICH 3, Cray MPICH 8): one that it lacks is null, as are all large-count functions there.
struct Library {
#define HAKOBI_FILE_FUNCTION(name) decltype(&::PMPI_##name) name = nullptr;
#include "mpiio/functions.def"
#if MPI_VERSION >= 4
    decltype(&::PMPI_Type_get_envelope_c) Type_get_envelope_c = nullptr;
    decltype(&::PMPI_Type_get_contents_c) Type_get_contents_c = nullptr;
#endif
    /// Starts generalised requests that the library polls while the program waits for them (requests.hpp);
    /// null where the library lacks it.
    int (*grequest_start)(MPI_Grequest_query_function*, MPI_Grequest_free_function*,
                          MPI_Grequest_cancel_function*, int (*poll)(void*, MPI_Status*),
                          int (*wait)(int, void**, double, MPI_Status*), void*,
                          MPI_Request*) = nullptr;  ///< MPIX_Grequest_start
    int (*progress_register)(int (*)()) = nullptr;  ///< opal_progress_register
    bool is_open_mpi = false;                       ///< by its own word: the standard's ABI does not tell
};

/// Filled in once, by hakobi_mpiio_start, before any other function of the drop-in is called.
extern Library library;

/// The library's MPI_File_open. The file gets the error handler of MPI_FILE_NULL. MPICH counts no use of it
/// there, and gives one up when the file gets another handler or is closed; so this counts one, or the
/// program's handler would be freed while it is in use. As the library's in all else.
[[nodiscard]] int open_by_library(MPI_Comm comm, const char* name, int mode, MPI_Info info, MPI_File* file);

/// "Open MPI v4.1.4, …" or "MPICH Version: 4.0.2": the first line of what the library calls itself.
[[nodiscard]] const char* library_name();

/// Exists while this thread is in a call of the MPI library. Calls that come in meanwhile on the same handle
/// are the library's own (its file functions may call each other by name) and go straight on; those on
/// another handle come from an error handler of the program. A handler may leave the library for good
/// (longjmp), and then the object is not destroyed: one whose stack frame is not above that of a call that
/// comes in is forgotten.
class Inside {
  public:
    [[gnu::always_inline]] explicit Inside(MPI_File handle = MPI_FILE_NULL) noexcept : place_(calls_.size) {
        if (place_ < most) calls_.at[place_] = {handle, __builtin_frame_address(0)};
        ++calls_.size;
    }
    ~Inside() { calls_.size = place_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    /// Whether a call on any handle comes from within the library.
    [[nodiscard, gnu::always_inline]] static bool is_nested() noexcept {
        return live(__builtin_frame_address(0)) != 0;
    }
    /// Whether a call on this handle does.
    [[nodiscard, gnu::always_inline]] static bool covers(MPI_File handle) noexcept {
        const std::size_t size = live(__builtin_frame_address(0));
        return size > most || (size != 0 && calls_.at[size - 1].handle == handle);
    }

  private:
    static constexpr std::size_t most = 16;
    struct Calls {
        struct {
            MPI_File handle;
            const void* frame;
        } at[most];
        std::size_t size;
    };
    /// How many exist when a call comes in whose stack frame is at `here`; the others are forgotten.
    [[nodiscard]] static std::size_t live(const void* here) noexcept;

    std::size_t place_;
    static thread_local Calls calls_;
};

}  // namespace hakobi::mpiio

/// Called by the front with the handle of the process's MPI library. Returns null, or the name of a function
/// that the drop-in cannot do without and the library lacks: then no other function of the drop-in may be
/// called.
extern "C" HAKOBI_EXPORT const char* hakobi_mpiio_start(void* mpi_library);
