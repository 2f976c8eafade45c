#include "mpiio/library_view.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "mpiio/contents.hpp"
#include "mpiio/hints.hpp"
#include "mpiio/library.hpp"

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

/// By which path to open what the link `link` leads to: its name, since the libraries make files beside it for shared
/// pointers; the link where the name is another file's by now, or too long for OMPIO.
std::string named(const std::string& link) {
    std::string name = target_of(link);
    struct stat of_name = {}, of_link = {};
    const bool is_same = !name.empty() && name.size() <= longest_name &&
                         ::stat(name.c_str(), &of_name) == 0 && ::stat(link.c_str(), &of_link) == 0 &&
                         of_name.st_dev == of_link.st_dev && of_name.st_ino == of_link.st_ino;
    return is_same ? name : link;
}

}  // namespace

std::string target_of(const std::string& link) {
    std::array<char, 4096> path;
    const ssize_t length = ::readlink(link.c_str(), path.data(), path.size());
    return length > 0 ? std::string(path.data(), static_cast<std::size_t>(length)) : std::string();
}

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

void LibraryView::start(MPI_File handle, int num_ranks, std::string path, int mode) {
    file_ = handle;
    num_ranks_ = num_ranks;
    path_ = std::move(path);
    mode_ = mode;
}

void LibraryView::start_late(MPI_Comm comm, MPI_Info info, int num_ranks, std::string path, int mode) {
    start(MPI_FILE_NULL, num_ranks, std::move(path), mode);
    comm_ = comm;
    if (info != MPI_INFO_NULL) PMPI_Info_dup(info, &info_);
    is_waiting_ = true;  // the view of all bytes
}

LibraryView::~LibraryView() {
    if (info_ != MPI_INFO_NULL) PMPI_Info_free(&info_);
    if (new_info_ != MPI_INFO_NULL) PMPI_Info_free(&new_info_);
}

void LibraryView::keep(ViewArguments arguments) {
    waiting_ = std::move(arguments);
    is_waiting_ = true;
    own_is_set_ = false;
}

void LibraryView::was_set(const ViewArguments& arguments) {
    file_is_all_bytes_ = arguments.is_all_bytes();
    is_waiting_ = false;
    own_is_set_ = false;
}

int LibraryView::set_on_file() {
    const std::lock_guard lock(mutex_);
    return set_waiting();
}

int LibraryView::set_waiting() {
    if (!is_waiting_) return MPI_SUCCESS;
    int error = file_ == MPI_FILE_NULL ? open_as_file(comm_, named(path_), file_) : MPI_SUCCESS;
    const bool is_set = file_is_all_bytes_ && waiting_.is_all_bytes() && waiting_.info() == MPI_INFO_NULL;
    if (error == MPI_SUCCESS && !is_set) error = waiting_.set_on(file_);
    if (error == MPI_SUCCESS) was_set(waiting_);
    return error;
}

int LibraryView::alone(MPI_File& handle) {
    handle = file_;
    if (files_handle_will_do()) return MPI_SUCCESS;
    const std::lock_guard lock(mutex_);
    // The pointer is on our side since the view waits: it moves to this handle as to one of the rank's own.
    if (num_ranks_ == 1) {
        const int error = set_waiting();
        handle = file_;
        return error;
    }
    int error = open_own();
    if (error == MPI_SUCCESS && !own_is_set_) {
        error = waiting_.set_on(own_);
        own_is_set_ = error == MPI_SUCCESS;
    }
    handle = own_;
    return error;
}

MPI_File LibraryView::in_force() {
    if (num_ranks_ == 1 || files_handle_will_do()) return file_;
    const std::lock_guard lock(mutex_);
    return own_;
}

int LibraryView::get_info(MPI_Info* info) {
    const std::lock_guard lock(mutex_);
    const Inside inside(file_);
    if (file_ != MPI_FILE_NULL) return library.File_get_info(file_, info);
    MPI_File like_it = MPI_FILE_NULL;
    int error = open_as_file(MPI_COMM_SELF, path_, like_it);
    if (error != MPI_SUCCESS) return error;
    error = library.File_get_info(like_it, info);
    library.File_close(&like_it);
    return error;
}

int LibraryView::verdict(const ViewArguments& arguments) {
    const std::lock_guard lock(mutex_);
    const int error = open_own();
    own_is_set_ = false;
    return error != MPI_SUCCESS ? error : arguments.set_on(own_);
}

int LibraryView::set_info(MPI_Info info) {
    if (info == MPI_INFO_NULL) return MPI_SUCCESS;
    const std::lock_guard lock(mutex_);
    const Inside inside(own_);
    if (is_waiting_) waiting_.drop_hints(info);
    if (file_ == MPI_FILE_NULL) {
        if (new_info_ == MPI_INFO_NULL) PMPI_Info_create(&new_info_);
        set_in_info(info, new_info_);
    }
    return own_ != MPI_FILE_NULL ? library.File_set_info(own_, info) : MPI_SUCCESS;
}

int LibraryView::sync_own() {
    const std::lock_guard lock(mutex_);
    const Inside inside(own_);
    return own_ != MPI_FILE_NULL && (mode_ & MPI_MODE_RDONLY) == 0 ? library.File_sync(own_) : MPI_SUCCESS;
}

void LibraryView::close_own() {
    const Inside inside(own_);
    if (own_ != MPI_FILE_NULL) library.File_close(&own_);
}

int LibraryView::close_late() {
    if (comm_ == MPI_COMM_NULL || file_ == MPI_FILE_NULL) return MPI_SUCCESS;
    const Inside inside(file_);
    return library.File_close(&file_);
}

int LibraryView::open_as_file(MPI_Comm comm, const std::string& path, MPI_File& handle) const {
    const Inside inside;
    const int mode = mode_ & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    const int error = library.File_open(comm, path.c_str(), mode, info_, &handle);
    if (error != MPI_SUCCESS) {
        handle = MPI_FILE_NULL;
        return error;
    }
    PMPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return new_info_ != MPI_INFO_NULL ? library.File_set_info(handle, new_info_) : MPI_SUCCESS;
}

int LibraryView::open_own() {
    if (own_ != MPI_FILE_NULL) return MPI_SUCCESS;
    const Inside inside;
    const int mode = mode_ & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    // The file's hints too: where the program forbids data sieving, other ranks write between this one's bytes.
    MPI_Info info = MPI_INFO_NULL;
    if (file_ != MPI_FILE_NULL) {
        if (library.File_get_info(file_, &info) != MPI_SUCCESS) info = MPI_INFO_NULL;
    } else if (info_ != MPI_INFO_NULL) {
        PMPI_Info_dup(info_, &info);
    }
    if (info == MPI_INFO_NULL && new_info_ != MPI_INFO_NULL) PMPI_Info_create(&info);
    if (info != MPI_INFO_NULL) set_in_info(new_info_, info);
    if (info != MPI_INFO_NULL) set_in_info(waiting_.info(), info);
    const int error = library.File_open(MPI_COMM_SELF, path_.c_str(), mode,
                                        info != MPI_INFO_NULL ? info : waiting_.info(), &own_);
    if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
    if (error == MPI_SUCCESS) PMPI_File_set_errhandler(own_, MPI_ERRORS_RETURN);
    return error;
}

}  // namespace hakobi::mpiio
