#pragma once

#include <cstdint>
#include <mutex>

#include "mpiio/library.hpp"

namespace hakobi::mpiio {

/// A file's individual pointer. It moves on two sides: the engine's calls move it here, calls that go to the
/// MPI library move the library's. Each side is brought up to date only when it is needed, since a seek costs
/// the libraries a walk over the file type. Here it counts bytes of the view, in MPI's calls etypes. `handle`
/// is always the one that stands for the file in the library (LibraryHandles::handle_with_pointer).
/// Invariant: at least one side is current. Local; any thread.
class FilePointer {
  public:
    /// A new view: our side stands at its start, and so does the library's if it has the view too
    /// (`theirs_as_well`).
    void reset(std::int64_t etype_bytes, bool theirs_as_well);
    /// MPI_File_seek to `etypes` >= 0, on our side.
    void set(std::int64_t etypes);
    /// Moves the pointer by `bytes`. Returns where it stood, or -1, the pointer unmoved, when the MPI library
    /// does not say.
    std::int64_t advance(MPI_File handle, std::int64_t bytes);
    /// MPI_File_get_position; -1 when the MPI library does not say.
    std::int64_t position_etypes(MPI_File handle);
    /// Gives the pointer to the MPI library, before a call that goes there and uses it. Returns an MPI error
    /// code. While `held` lives all others wait, who would see the pointer before that call has moved it.
    int hand_over(MPI_File handle, std::unique_lock<std::mutex>& held);
    /// Takes the pointer from the MPI library, where another handle than `handle` is about to stand for the
    /// file. Returns false when the library does not say where the pointer is.
    bool leave(MPI_File handle);

  private:
    bool fetch(MPI_File handle);  // mutex_ held

    std::mutex mutex_;
    std::int64_t etype_bytes_ = 1;
    std::int64_t position_bytes_ = 0;
    bool ours_is_current_ = true, theirs_is_current_ = true;
};

}  // namespace hakobi::mpiio
