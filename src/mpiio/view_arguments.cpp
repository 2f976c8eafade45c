#include "mpiio/view_arguments.hpp"

#include <strings.h>

#include <climits>
#include <utility>
#include <vector>

#include "mpiio/datatype.hpp"
#include "mpiio/library.hpp"
#include "mpiio/type_contents.hpp"
#include "region/cursor.hpp"

namespace hakobi::mpiio {
namespace {

/// A leaf is kept as itself: a duplicate would no longer say what it is.
MPI_Datatype kept(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL || is_leaf(type)) return type;
    MPI_Datatype duplicate = MPI_DATATYPE_NULL;
    return PMPI_Type_dup(type, &duplicate) == MPI_SUCCESS ? duplicate : MPI_DATATYPE_NULL;
}

void drop(MPI_Datatype& type) {
    if (type != MPI_DATATYPE_NULL && !is_leaf(type)) PMPI_Type_free(&type);
}

/// Whether a type, or one in it, was resized to a lower bound other than 0: ROMIO moves what is in it by the
/// bound.
bool has_moved_bound(MPI_Datatype type) {
    const TypeContents contents(type);
    if (!contents.is_valid() || contents.is_leaf()) return false;
    bool is_found = contents.combiner() == MPI_COMBINER_RESIZED && contents.address(0, 0) != 0;
    for (std::size_t i = 0; i < contents.num_types() && !is_found; ++i)
        is_found = has_moved_bound(contents.type(i));
    return is_found;
}

/// A type that is as `type` in a view, where its lower bound does not matter, and has 0 for it;
/// MPI_DATATYPE_NULL where there is none, or the library would not take `type` either.
MPI_Datatype without_bound(MPI_Datatype type) {
    const Layout layout = committed_layout_of(type);
    if (!layout.is_known || !layout.is_committed) return MPI_DATATYPE_NULL;
    std::vector<int> lengths;
    std::vector<MPI_Aint> offsets;
    for (Cursor piece(layout.item); !piece.at_end(); piece.advance(piece.remaining())) {
        if (piece.remaining() > INT_MAX || lengths.size() == INT_MAX) return MPI_DATATYPE_NULL;
        lengths.push_back(static_cast<int>(piece.remaining()));
        offsets.push_back(piece.offset());
    }
    MPI_Datatype bytes = MPI_DATATYPE_NULL, made = MPI_DATATYPE_NULL;
    PMPI_Type_create_hindexed(static_cast<int>(lengths.size()), lengths.data(), offsets.data(), MPI_BYTE,
                              &bytes);
    PMPI_Type_create_resized(bytes, 0, layout.extent_bytes, &made);
    PMPI_Type_free(&bytes);
    PMPI_Type_commit(&made);
    return made;
}

}  // namespace

ViewArguments::ViewArguments(MPI_Offset displacement, MPI_Datatype etype, MPI_Datatype filetype,
                             MPI_Info info)
    : displacement_(displacement), etype_(kept(etype)), filetype_(kept(filetype)) {
    if (info != MPI_INFO_NULL) PMPI_Info_dup(info, &info_);
}

ViewArguments::ViewArguments(ViewArguments&& other) noexcept {
    *this = std::move(other);
}

ViewArguments& ViewArguments::operator=(ViewArguments&& other) noexcept {
    std::swap(displacement_, other.displacement_);
    std::swap(etype_, other.etype_);
    std::swap(filetype_, other.filetype_);
    std::swap(info_, other.info_);
    return *this;
}

ViewArguments::~ViewArguments() {
    drop(etype_);
    drop(filetype_);
    if (info_ != MPI_INFO_NULL) PMPI_Info_free(&info_);
}

int ViewArguments::set_on(MPI_File handle, const char* representation) const {
    const Inside inside(handle);
    MPI_Count etype_bytes = 1;  // OMPIO divides by it
    if (etype_ != MPI_DATATYPE_NULL) PMPI_Type_size_x(etype_, &etype_bytes);
    MPI_Datatype unbound = MPI_DATATYPE_NULL;
    if (filetype_ != MPI_DATATYPE_NULL && representation != nullptr &&
        ::strcasecmp(representation, "native") == 0 && has_moved_bound(filetype_))
        unbound = without_bound(filetype_);
    const int error =
        library.File_set_view(handle, displacement_, etype_bytes == 0 ? MPI_BYTE : etype_,
                              unbound != MPI_DATATYPE_NULL ? unbound : filetype_, representation, info_);
    drop(unbound);
    return error;
}

int ViewArguments::copy_to(MPI_Offset* displacement, MPI_Datatype* etype, MPI_Datatype* filetype) const {
    *displacement = displacement_;
    *etype = kept(etype_);
    *filetype = kept(filetype_);
    return *etype != MPI_DATATYPE_NULL && *filetype != MPI_DATATYPE_NULL ? MPI_SUCCESS : MPI_ERR_INTERN;
}

void ViewArguments::drop_hints(MPI_Info newer) {
    int num_keys = 0;
    if (info_ == MPI_INFO_NULL || PMPI_Info_get_nkeys(newer, &num_keys) != MPI_SUCCESS) return;
    for (int i = 0; i < num_keys; ++i) {
        char key[MPI_MAX_INFO_KEY + 1] = "";
        int length = 0, is_set = 0;
        if (PMPI_Info_get_nthkey(newer, i, key) != MPI_SUCCESS) continue;
        PMPI_Info_get_valuelen(info_, key, &length, &is_set);  // to delete what is not there is an error
        if (is_set != 0) PMPI_Info_delete(info_, key);
    }
}

}  // namespace hakobi::mpiio
