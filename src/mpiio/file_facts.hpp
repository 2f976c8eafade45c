#pragma once

#include <sys/types.h>

#include <compare>
#include <cstdint>
#include <hakobi/comm.hpp>
#include <memory>
#include <string>

#include "base/descriptor.hpp"
#include "mpiio/comm_pool.hpp"

namespace hakobi::mpiio {

/// The same for all handles of a file on this node; none where `inode` is 0.
struct FileIdentity {
    dev_t device = 0;
    ino_t inode = 0;
    auto operator<=>(const FileIdentity&) const = default;
};

/// Facts of an open file. MPI_File_open fills them in, and nothing changes until MPI_File_close. All
/// functions are local and may be called from any thread.
struct FileFacts {
    /// The program's handle, which its error handlers are attached to: the MPI library's handle of the file,
    /// or a placeholder (LibrarySide::is_placeholder).
    MPI_File handle = MPI_FILE_NULL;
    std::shared_ptr<FileComm> comms;  ///< over the ranks that opened the file together
    int rank = 0, num_ranks = 1;      ///< in `comms`
    int mode = 0;                     ///< MPI_MODE_…, as the program gave it
    std::string name;                 ///< as the program gave it
    Descriptor descriptor;  ///< of what `name` led to at the open; identifies the file, not for access
    FileIdentity identity;
    bool is_reported = false;  ///< a profile or an explanation is printed at close; equal on all ranks

    [[nodiscard]] bool can_read() const noexcept { return (mode & (MPI_MODE_RDONLY | MPI_MODE_RDWR)) != 0; }
    [[nodiscard]] bool can_write() const noexcept { return (mode & (MPI_MODE_WRONLY | MPI_MODE_RDWR)) != 0; }
    /// A path to the file that was opened, whatever has become of its name.
    [[nodiscard]] std::string opened_path() const {
        return "/proc/self/fd/" + std::to_string(descriptor.get());
    }
    /// Its absolute path, without symbolic links; empty where it has none.
    [[nodiscard]] std::string real_path() const;
    /// Its present size; -1 where POSIX calls do not say, with errno set.
    [[nodiscard]] std::int64_t size_bytes() const;
};

/// Returns the target of a symbolic link; empty where `link` is none.
[[nodiscard]] std::string target_of(const std::string& link);

}  // namespace hakobi::mpiio
