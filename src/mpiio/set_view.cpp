#include "mpiio/set_view.hpp"

#include <strings.h>

#include <string>
#include <utility>

#include "mpiio/hints.hpp"
#include "mpiio/library_call.hpp"
#include "mpiio/report.hpp"

namespace hakobi::mpiio {
namespace {

/// Bytes in increasing order that lie within one extent: what MPI wants of the types of a view.
bool is_plain(const Layout& type) {
    return type.is_known && type.size_bytes > 0 && type.item.begin_bytes() >= 0 && type.item.is_ordered() &&
           type.item.end_bytes() - type.item.begin_bytes() <= type.extent_bytes;
}

/// Whether a view's arguments are such that the MPI library would not refuse them, by what can be told
/// without it.
bool is_plain(MPI_Offset displacement, const Layout& etype, const Layout& filetype) {
    return displacement >= 0 && is_plain(etype) && is_plain(filetype) &&
           filetype.size_bytes % etype.size_bytes == 0;
}

/// Holds the view back. `is_plain`: the library would not refuse it. Local. Returns an MPI error code, the
/// handler called.
int hold_back(OpenFile& file, ViewArguments arguments, bool is_plain) {
    if (!is_plain) {
        file.library_side.leave_pointer();  // which the rank's own handle loses by this
        const int error = file.library_side.handles.try_view(arguments);
        if (error != MPI_SUCCESS) {
            PMPI_File_call_errhandler(file.facts.handle, error);
            return error;
        }
    }
    file.library_side.handles.hold_back(std::move(arguments));
    ++file.counts.late_views;
    return MPI_SUCCESS;
}

/// Has the library set the view. Collective. Returns an MPI error code, the handler called.
int set_at_once(OpenFile& file, ViewArguments arguments, const char* representation) {
    LibrarySide& side = file.library_side;
    int error = side.handles.file() == MPI_FILE_NULL ? settle_view(file) : MPI_SUCCESS;
    if (error != MPI_SUCCESS) return error;
    const MPI_File at = side.handles.file();
    error = told(file, at, arguments.set_on(at, representation));
    if (error != MPI_SUCCESS) return error;
    if (side.is_placeholder) {  // MPI_File_get_type_extent goes by the handle's representation
        side.is_placeholder_changed = true;
        const MPI_File placeholder = file.facts.handle;
        (void)pass(placeholder, [&] {
            return library.File_set_view(placeholder, MPI_DISPLACEMENT_CURRENT, MPI_BYTE, MPI_BYTE,
                                         representation, MPI_INFO_NULL);
        });
    }
    side.handles.was_set(std::move(arguments));
    return MPI_SUCCESS;
}

}  // namespace

int set_view(OpenFile& file, MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
             const char* representation, MPI_Info info) {
    file.wait_for_queue();
    // Equal on all ranks, as MPI wants the representation to be: the library's call is collective.
    const bool is_late = file.library_side.gets_views_late && file.engine_side.why_not.empty() &&
                         !file.program.is_atomic && representation != nullptr &&
                         strcasecmp(representation, "native") == 0;
    const bool is_null = etype == MPI_DATATYPE_NULL || filetype == MPI_DATATYPE_NULL;
    Layout element, tile;
    if (is_late && !is_null) {
        element = committed_layout_of(etype);
        tile = etype == filetype ? element : committed_layout_of(filetype);
        if (!element.is_committed || !tile.is_committed) {
            PMPI_File_call_errhandler(file.facts.handle, MPI_ERR_TYPE);
            return MPI_ERR_TYPE;
        }
    }
    ViewArguments arguments(displacement, etype, filetype, info);
    const int error = is_late ? hold_back(file, std::move(arguments), is_plain(displacement, element, tile))
                              : set_at_once(file, std::move(arguments), representation);
    if (error != MPI_SUCCESS) return error;
    if (!is_late) {
        element = layout_of(etype);
        tile = etype == filetype ? element : layout_of(filetype);
    }
    ++file.counts.views;
    file.program.has_nonblocking_writes = false;  // MPI: no request may be active here
    file.program.view = View(displacement, element, tile);
    file.library_side.pointer.reset(element.size_bytes, !is_late);
    file.program.representation = representation;
    file.program.is_native = strcasecmp(representation, "native") == 0;
    if (!file.program.is_native)
        explain(file,
                std::string("left to the MPI library while its data representation is ") + representation);
    take_hints(file, info);
    return MPI_SUCCESS;
}

}  // namespace hakobi::mpiio
