#pragma once

#include <hakobi/comm.hpp>

namespace hakobi::mpiio {

/// The file functions of the MPI library underneath, by address: the names themselves lead back to the drop-in, which
/// stands in front of them (front.c). A large-count function that the library lacks is null.
struct Library {
#define HAKOBI_FILE_FUNCTION(name) decltype(&::PMPI_##name) name = nullptr;
#if MPI_VERSION >= 4
#define HAKOBI_FILE_FUNCTION_C(name) \
    HAKOBI_FILE_FUNCTION(name)       \
    HAKOBI_FILE_FUNCTION(name##_c)
#else
#define HAKOBI_FILE_FUNCTION_C(name) HAKOBI_FILE_FUNCTION(name)
#endif
#include "mpiio/functions.def"
#undef HAKOBI_FILE_FUNCTION
#undef HAKOBI_FILE_FUNCTION_C
};

/// Set once, by hakobi_mpiio_start, before any other function of the drop-in is called.
extern Library library;

/// "Open MPI v4.1.4, …" or "MPICH Version: 4.0.2": the first line of what the library calls itself.
[[nodiscard]] const char* library_name();

/// While one exists on this thread, calls that come in are the MPI library's own (its file functions may call each
/// other by name) and go straight on.
class Inside {
  public:
    Inside() noexcept { ++depth_; }
    ~Inside() { --depth_; }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    [[nodiscard]] static bool is_nested() noexcept { return depth_ != 0; }

  private:
    static thread_local int depth_;
};

}  // namespace hakobi::mpiio
