#include "mpiio/library_handles.hpp"

#include <sys/stat.h>

#include <utility>

#include "mpiio/info.hpp"
#include "mpiio/library.hpp"

namespace hakobi::mpiio {
namespace {

/// By which path to open what the link `link` leads to: its name, since the libraries make files beside it
/// for shared pointers; the link where the name is another file's by now, or too long for OMPIO.
std::string named(const std::string& link) {
    std::string name = target_of(link);
    struct stat of_name = {}, of_link = {};
    const bool is_same = !name.empty() && name.size() <= longest_name &&
                         ::stat(name.c_str(), &of_name) == 0 && ::stat(link.c_str(), &of_link) == 0 &&
                         of_name.st_dev == of_link.st_dev && of_name.st_ino == of_link.st_ino;
    return is_same ? name : link;
}

}  // namespace

LibraryHandles::~LibraryHandles() {
    for (MPI_Info* const info : {&opening_.info, &opening_.new_info})
        if (*info != MPI_INFO_NULL) PMPI_Info_free(info);
}

void LibraryHandles::start(const FileFacts& facts) {
    file_ = facts.handle;
    opening_.path = facts.opened_path();
    opening_.mode = facts.mode & (MPI_MODE_RDONLY | MPI_MODE_WRONLY | MPI_MODE_RDWR);
    opening_.num_ranks = facts.num_ranks;
}

void LibraryHandles::start_late(const FileFacts& facts, MPI_Info info) {
    start(facts);
    file_ = MPI_FILE_NULL;
    opening_.comm = facts.comms->comm;
    if (info != MPI_INFO_NULL) PMPI_Info_dup(info, &opening_.info);
    is_held_back_ = true;  // the view of all bytes
}

void LibraryHandles::hold_back(ViewArguments view) {
    view_ = std::move(view);
    is_held_back_ = true;
    own_is_set_ = false;
}

void LibraryHandles::was_set(ViewArguments view) {
    view_ = std::move(view);
    note_set();
}

void LibraryHandles::note_set() {
    file_is_all_bytes_ = view_.is_all_bytes();
    is_held_back_ = false;
    own_is_set_ = false;
}

int LibraryHandles::set_held_back_view() {
    const std::lock_guard lock(mutex_);
    return set_on_file();
}

int LibraryHandles::set_on_file() {
    if (!is_held_back_) return MPI_SUCCESS;
    int error =
        file_ == MPI_FILE_NULL ? open_as_file(opening_.comm, named(opening_.path), file_) : MPI_SUCCESS;
    const bool is_set = file_is_all_bytes_ && view_.is_all_bytes() && view_.info() == MPI_INFO_NULL;
    if (error == MPI_SUCCESS && !is_set) error = view_.set_on(file_);
    if (error == MPI_SUCCESS) note_set();
    return error;
}

int LibraryHandles::handle_for_one_rank(MPI_File& handle) {
    handle = file_;
    if (files_handle_will_do()) return MPI_SUCCESS;
    const std::lock_guard lock(mutex_);
    // The pointer is on our side while the view is held back: it moves to this handle as to one of the rank's
    // own.
    if (opening_.num_ranks == 1) {
        const int error = set_on_file();
        handle = file_;
        return error;
    }
    int error = open_own();
    if (error == MPI_SUCCESS && !own_is_set_) {
        error = view_.set_on(own_);
        own_is_set_ = error == MPI_SUCCESS;
    }
    handle = own_;
    return error;
}

MPI_File LibraryHandles::handle_with_pointer() {
    if (opening_.num_ranks == 1 || files_handle_will_do()) return file_;
    const std::lock_guard lock(mutex_);
    return own_;
}

int LibraryHandles::get_info(MPI_Info* info) {
    const std::lock_guard lock(mutex_);
    const Inside inside(file_);
    if (file_ != MPI_FILE_NULL) return library.File_get_info(file_, info);
    MPI_File like_it = MPI_FILE_NULL;
    int error = open_as_file(MPI_COMM_SELF, opening_.path, like_it);
    if (error != MPI_SUCCESS) return error;
    error = library.File_get_info(like_it, info);
    library.File_close(&like_it);
    return error;
}

int LibraryHandles::try_view(const ViewArguments& view) {
    const std::lock_guard lock(mutex_);
    const int error = open_own();
    own_is_set_ = false;
    return error != MPI_SUCCESS ? error : view.set_on(own_);
}

int LibraryHandles::set_info(MPI_Info info) {
    if (info == MPI_INFO_NULL) return MPI_SUCCESS;
    const std::lock_guard lock(mutex_);
    const Inside inside(own_);
    if (is_held_back_) view_.drop_hints(info);
    if (file_ == MPI_FILE_NULL) {
        if (opening_.new_info == MPI_INFO_NULL) PMPI_Info_create(&opening_.new_info);
        set_in_info(info, opening_.new_info);
    }
    return own_ != MPI_FILE_NULL ? library.File_set_info(own_, info) : MPI_SUCCESS;
}

int LibraryHandles::sync_own() {
    const std::lock_guard lock(mutex_);
    const Inside inside(own_);
    return own_ != MPI_FILE_NULL && (opening_.mode & MPI_MODE_RDONLY) == 0 ? library.File_sync(own_)
                                                                           : MPI_SUCCESS;
}

void LibraryHandles::close_own() {
    const Inside inside(own_);
    if (own_ != MPI_FILE_NULL) library.File_close(&own_);
}

int LibraryHandles::close_late() {
    if (opening_.comm == MPI_COMM_NULL || file_ == MPI_FILE_NULL) return MPI_SUCCESS;
    const Inside inside(file_);
    return library.File_close(&file_);
}

int LibraryHandles::open_as_file(MPI_Comm comm, const std::string& path, MPI_File& handle) const {
    const Inside inside;
    const int error = open_by_library(comm, path.c_str(), opening_.mode, opening_.info, &handle);
    if (error != MPI_SUCCESS) {
        handle = MPI_FILE_NULL;
        return error;
    }
    PMPI_File_set_errhandler(handle, MPI_ERRORS_RETURN);
    return opening_.new_info != MPI_INFO_NULL ? library.File_set_info(handle, opening_.new_info)
                                              : MPI_SUCCESS;
}

int LibraryHandles::open_own() {
    if (own_ != MPI_FILE_NULL) return MPI_SUCCESS;
    const Inside inside;
    // The file's hints too: where the program forbids data sieving, other ranks write between this one's
    // bytes.
    MPI_Info info = MPI_INFO_NULL;
    if (file_ != MPI_FILE_NULL) {
        if (library.File_get_info(file_, &info) != MPI_SUCCESS) info = MPI_INFO_NULL;
    } else if (opening_.info != MPI_INFO_NULL) {
        PMPI_Info_dup(opening_.info, &info);
    }
    if (info == MPI_INFO_NULL && opening_.new_info != MPI_INFO_NULL) PMPI_Info_create(&info);
    if (info != MPI_INFO_NULL) set_in_info(opening_.new_info, info);
    if (info != MPI_INFO_NULL) set_in_info(view_.info(), info);
    const int error = open_by_library(MPI_COMM_SELF, opening_.path.c_str(), opening_.mode,
                                      info != MPI_INFO_NULL ? info : view_.info(), &own_);
    if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
    if (error == MPI_SUCCESS) PMPI_File_set_errhandler(own_, MPI_ERRORS_RETURN);
    return error;
}

}  // namespace hakobi::mpiio
