#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/thread.hpp"
#include "storage/concurrency.hpp"
#include "storage/file.hpp"

namespace hakobi::storage {

/// A part of a buffer and its place in the file.
struct Extent {
    std::int64_t buffer_bytes = 0;  ///< offset in the request's buffer
    std::int64_t file_bytes = 0;    ///< offset in the file
    std::int64_t length_bytes = 0;
    bool has_holes = false;  ///< writing: Request::holes says which of its bytes are data
};

/// The holes between the data of a write's extents that span them. Functions are called by the request's
/// thread.
class Holes {
  public:
    virtual ~Holes() = default;
    /// Puts the file's own bytes of this extent, `old`, into the buffer wherever the extent has no data.
    virtual void fill(const Extent& extent, const std::byte* old) = 0;
    /// The runs of data of this extent, in order.
    virtual void append_runs(const Extent& extent, std::vector<Extent>& runs) const = 0;
};

/// One file access of a collective buffer: its extents are moved in any order, then `done` is called once.
struct Request {
    bool is_write = false;
    bool begins_at_once =
        false;             ///< where a thread is free, whatever the file's profile says of how many pay
    File* file = nullptr;  ///< must stay open until done is called; null: the Access's own
    std::byte* buffer = nullptr;
    std::vector<Extent> extents;
    /// An extent with holes is read, filled and written while its range of the file is locked, so that holes
    /// keep what others put there, also meanwhile. Where the storage has no lock after all its runs are
    /// written one by one.
    Holes* holes = nullptr;
    /// Called by the thread that completed the request, with `status` and `transferred_bytes` set; it must
    /// not block and must not call MPI. It may submit another request.
    void (*done)(Request&) = nullptr;
    void* context = nullptr;

    Status status;  ///< the first error; extents after it are not touched
    std::int64_t transferred_bytes =
        0;                          ///< reading: bytes that the file had; the rest of the buffer is untouched
    double start_s = 0, end_s = 0;  ///< on base/clock.hpp's now_s(): from taking up to completion
    int thread = 0;                 ///< which I/O thread (trace row)
    std::int64_t filled_bytes = 0;  ///< read back for extents with holes
    AccessTotals reads, writes;     ///< the calls that were made, where this process made them
};

/// How requests reach a File: in line (`posix`, the unpipelined original), on I/O threads, or by the kernel's
/// asynchronous I/O. Requests of one Access, of one file or of several, complete in any order. Their times go
/// into their file's profile, which says how many of its threads may work at once.
class Access {
  public:
    virtual ~Access() = default;
    /// Takes the request; it must stay alive until done is called. Callable from any thread.
    virtual void submit(Request& request) = 0;
    /// Returns when everything that was submitted is done.
    virtual void drain() = 0;
    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// The most threads that it may use: under this number the profiles of its files learn from it.
    [[nodiscard]] virtual int thread_limit() const noexcept { return 1; }
};

struct AccessOptions {
    std::string_view name = "threads";  ///< "posix", "threads" or "uring"
    int num_threads = 4;  ///< I/O threads at most; fewer are used while the storage does not block
    int queue_depth = 8;  ///< uring: requests in flight at most
    /// uring registers these buffers; may be empty.
    std::vector<std::span<std::byte>> buffers = {};
    CoreSet cores = {};  ///< where its threads may run; empty: where the caller may
};

/// For requests that name their file. unsupported (with the reason) when this build or kernel has no such
/// access.
Result<std::unique_ptr<Access>> make_access(const AccessOptions& options);
/// The same, with a file for those that name none; it must outlive the access.
Result<std::unique_ptr<Access>> make_access(File& file, const AccessOptions& options);

}  // namespace hakobi::storage
