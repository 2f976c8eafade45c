#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hakobi::test {

/// Calls that system_calls.cpp and library_calls.cpp put themselves in front of: those of the library, and,
/// of files, those of all libraries of the program.
enum class SystemCall {
    none,
    open,         ///< of files and folders, and of memory that another process shares
    read,         ///< read and pread fail
    short_read,   ///< they return half of what was asked for
    write,        ///< write, pwrite and copy_file_range fail
    short_write,  ///< they take half of what was given
    interrupted,  ///< EINTR of a read, write, sync or truncation
    fsync,
    fdatasync,
    close,
    rename,
    link,
    unlink,  ///< also of a folder
    mkdir,
    truncate,
    fallocate,
    mmap,          ///< also the making of memory that processes share
    buffer,        ///< memory of large_bytes and more, for the library, HDF5 or a compressor
    memory,        ///< operator new, of any size
    thread,        ///< pthread_create
    copy,          ///< process_vm_readv
    communicator,  ///< MPI_Comm_dup, MPI_Comm_split, MPI_Comm_split_type
    hdf5,          ///< H5Fopen
    socket,        ///< of libcurl's, as are those below
    connect,
    send,
    receive,
    last
};
inline constexpr std::size_t num_system_calls = static_cast<std::size_t>(SystemCall::last);
/// Calls by which files are stored.
inline constexpr SystemCall storing_calls[] = {SystemCall::fsync,  SystemCall::fdatasync, SystemCall::close,
                                               SystemCall::rename, SystemCall::truncate,  SystemCall::unlink,
                                               SystemCall::mkdir};
inline constexpr std::size_t large_bytes = 8192;
[[nodiscard]] std::string_view name_of(SystemCall call);

/// From now on the n-th call of the kind (1: the first) fails once, with EDQUOT where it is of a path below
/// `folder`. A sync that fails, or a close, loses what was written since the last one that did not, as
/// write-back does: the files have again what they had.
void fail_call(SystemCall call, std::int64_t nth, const std::string& folder);
/// No longer. Whether it has failed.
bool end_failing();

/// From now on calls are counted, and none fails.
void count_calls(const std::string& folder);
/// No longer; how many there were of each kind.
std::array<std::int64_t, num_system_calls> end_counting();

/// Whether calls of the kind are looked at now.
bool is_watched(SystemCall call) noexcept;
/// For library_calls.cpp: whether this call, which has no path, is the one that fails. Allocates nothing.
bool is_call_due(SystemCall call) noexcept;
/// While one exists, memory that this thread takes is not the library's.
class OwnMemory {
  public:
    OwnMemory() noexcept { ++depth(); }
    ~OwnMemory() { --depth(); }
    OwnMemory(const OwnMemory&) = delete;
    OwnMemory& operator=(const OwnMemory&) = delete;
    [[nodiscard]] static bool is_there() noexcept { return depth() > 0; }

  private:
    static int& depth() noexcept;
};

}  // namespace hakobi::test
