// MPI-IO as the method `parallel` uses it: a view, and writes through it. MPI_File is a pointer in MPICH's
// ABI.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "serial_mpi/serial_mpi.hpp"

namespace hakobi::serial_mpi {
namespace {

struct File {
    int descriptor;
    MPI_Offset displacement = 0;
    std::shared_ptr<const Layout> view = layout_of(MPI_BYTE);
};

File& file_of(MPI_File handle) {
    return *reinterpret_cast<File*>(handle);
}

int write_at(int descriptor, std::span<const std::byte> bytes, MPI_Offset offset) {
    while (!bytes.empty()) {
        const ssize_t written = pwrite(descriptor, bytes.data(), bytes.size(), offset);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return error_of_errno(errno);
        bytes = bytes.subspan(static_cast<std::size_t>(written));
        offset += written;
    }
    return MPI_SUCCESS;
}

/// Writes bytes of the view, from `position` on.
int write_view(const File& file, MPI_Offset position, std::span<const std::byte> bytes) {
    const Layout& view = *file.view;
    if (view.size_bytes == 0) return bytes.empty() ? MPI_SUCCESS : MPI_ERR_IO;
    MPI_Offset tile = position / view.size_bytes, skipped = position % view.size_bytes;
    if (view.is_dense()) return write_at(file.descriptor, bytes, file.displacement + position);
    for (; !bytes.empty(); ++tile) {
        for (const Layout::Piece& piece : view.pieces) {
            if (skipped >= piece.length) {
                skipped -= piece.length;
                continue;
            }
            const MPI_Offset length = std::min<MPI_Offset>(piece.length - skipped, std::ssize(bytes));
            const MPI_Offset at = file.displacement + tile * view.extent() + piece.offset + skipped;
            const int error = write_at(file.descriptor, bytes.first(static_cast<std::size_t>(length)), at);
            if (error != MPI_SUCCESS) return error;
            bytes = bytes.subspan(static_cast<std::size_t>(length));
            skipped = 0;
            if (bytes.empty()) break;
        }
    }
    return MPI_SUCCESS;
}

}  // namespace
}  // namespace hakobi::serial_mpi

using namespace hakobi::serial_mpi;  // MPI's functions, all of them about these

int MPI_File_open(MPI_Comm, const char* name, int mode, MPI_Info, MPI_File* file) {
    if (std::strncmp(name, "ufs:", 4) == 0) name += 4;  // MPICH's name for an ordinary file system
    int flags = O_CLOEXEC;
    flags |= (mode & MPI_MODE_RDWR) != 0 ? O_RDWR : (mode & MPI_MODE_WRONLY) != 0 ? O_WRONLY : O_RDONLY;
    if ((mode & MPI_MODE_CREATE) != 0) flags |= O_CREAT;
    if ((mode & MPI_MODE_EXCL) != 0) flags |= O_EXCL;
    const int descriptor = open(name, flags, 0666);
    if (descriptor < 0) return error_of_errno(errno);
    *file = reinterpret_cast<MPI_File>(new File{descriptor});
    return MPI_SUCCESS;
}

int MPI_File_set_errhandler(MPI_File, MPI_Errhandler) {
    return MPI_SUCCESS;  // errors are always returned
}

int MPI_File_set_view(MPI_File handle, MPI_Offset displacement, MPI_Datatype, MPI_Datatype type, const char*,
                      MPI_Info) {
    const auto view = layout_of(type);
    if (!view) return MPI_ERR_TYPE;
    File& file = file_of(handle);
    file.displacement = displacement;
    file.view = view;
    return MPI_SUCCESS;
}

int MPI_File_write_at_all(MPI_File handle, MPI_Offset offset, const void* data, int count, MPI_Datatype type,
                          MPI_Status* status) {
    const auto layout = layout_of(type);
    if (!layout) return MPI_ERR_TYPE;
    const auto length = static_cast<std::size_t>(count * layout->size_bytes);
    set_status(status, 0, length);
    if (length == 0) return MPI_SUCCESS;
    if (layout->is_dense())
        return write_view(file_of(handle), offset, {static_cast<const std::byte*>(data), length});
    return write_view(file_of(handle), offset, pack(data, count, *layout));
}

int MPI_File_sync(MPI_File handle) {
    return fsync(file_of(handle).descriptor) == 0 ? MPI_SUCCESS : error_of_errno(errno);
}

int MPI_File_close(MPI_File* handle) {
    const int descriptor = file_of(*handle).descriptor;
    delete &file_of(*handle);
    *handle = MPI_FILE_NULL;
    return close(descriptor) == 0 ? MPI_SUCCESS : error_of_errno(errno);
}

HAKOBI_ALSO_AS_PMPI(File_open)
HAKOBI_ALSO_AS_PMPI(File_set_errhandler)
HAKOBI_ALSO_AS_PMPI(File_set_view)
HAKOBI_ALSO_AS_PMPI(File_write_at_all)
HAKOBI_ALSO_AS_PMPI(File_sync)
HAKOBI_ALSO_AS_PMPI(File_close)
