#include "mpiio/file_pointer.hpp"

#include <algorithm>

namespace hakobi::mpiio {

void FilePointer::reset(std::int64_t etype_bytes, bool theirs_as_well) {
    const std::lock_guard lock(mutex_);
    etype_bytes_ = std::max<std::int64_t>(etype_bytes, 1);
    position_bytes_ = 0;
    ours_is_current_ = true;
    theirs_is_current_ = theirs_as_well;
}

void FilePointer::set(std::int64_t etypes) {
    const std::lock_guard lock(mutex_);
    position_bytes_ = etypes * etype_bytes_;
    ours_is_current_ = true;
    theirs_is_current_ = false;
}

std::int64_t FilePointer::advance(MPI_File handle, std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (!fetch(handle)) return -1;
    const std::int64_t before = position_bytes_;
    if (bytes != 0) {
        position_bytes_ += bytes;
        theirs_is_current_ = false;
    }
    return before;
}

std::int64_t FilePointer::position_etypes(MPI_File handle) {
    const std::lock_guard lock(mutex_);
    return fetch(handle) ? position_bytes_ / etype_bytes_ : -1;
}

int FilePointer::hand_over(MPI_File handle, std::unique_lock<std::mutex>& held) {
    held = std::unique_lock(mutex_);
    int error = MPI_SUCCESS;
    if (!theirs_is_current_) error = library.File_seek(handle, position_bytes_ / etype_bytes_, MPI_SEEK_SET);
    theirs_is_current_ = true;
    ours_is_current_ = false;
    return error;
}

bool FilePointer::leave(MPI_File handle) {
    const std::lock_guard lock(mutex_);
    const bool is_known = fetch(handle);
    theirs_is_current_ = false;
    return is_known;
}

bool FilePointer::fetch(MPI_File handle) {
    if (ours_is_current_) return true;
    MPI_Offset etypes = 0;
    if (library.File_get_position(handle, &etypes) != MPI_SUCCESS) return false;
    position_bytes_ = etypes * etype_bytes_;
    ours_is_current_ = true;
    return true;
}

}  // namespace hakobi::mpiio
