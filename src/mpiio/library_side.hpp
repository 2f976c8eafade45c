#pragma once

#include <cstdint>

#include "base/descriptor.hpp"
#include "mpiio/file_pointer.hpp"
#include "mpiio/library_handles.hpp"

namespace hakobi::mpiio {

/// The MPI library's side of an open file. Invariants: a view is held back only where `gets_views_late`, and
/// where `is_placeholder` the library has the file open only if one of its calls needed it.
struct LibrarySide {
    LibraryHandles handles;
    FilePointer pointer;  ///< the individual one; use the functions below
    Descriptor folder;    ///< in the path by which the library opened the file, where its name was too long
    bool gets_views_late = false;         ///< a view may be held back; equal on all ranks
    bool is_placeholder = false;          ///< the program's handle is one; equal on all ranks
    bool is_placeholder_changed = false;  ///< its view is not the one that it was opened with

    /// FilePointer's, for the handle that stands for the file.
    std::int64_t advance_pointer(std::int64_t bytes) {
        return pointer.advance(handles.handle_with_pointer(), bytes);
    }
    std::int64_t position_etypes() { return pointer.position_etypes(handles.handle_with_pointer()); }
    bool leave_pointer() { return pointer.leave(handles.handle_with_pointer()); }
};

}  // namespace hakobi::mpiio
