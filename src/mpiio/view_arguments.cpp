#include "mpiio/view_arguments.hpp"

#include <utility>

#include "mpiio/library.hpp"
#include "mpiio/type_contents.hpp"

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
    return library.File_set_view(handle, displacement_, etype_bytes == 0 ? MPI_BYTE : etype_, filetype_,
                                 representation, info_);
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
