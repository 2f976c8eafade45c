#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace hakobi::storage {

/// How a file is opened. Creating and truncating are one rank's work; the others open what exists.
struct OpenMode {
    bool read = true;
    bool write = false;
    bool create = false;     ///< make it when missing (mode 0666 less the umask)
    bool exclusive = false;  ///< with create: `exists` when it is there
    bool truncate = false;
    bool direct =
        false;  ///< O_DIRECT where offset, length and address are aligned to 4096; buffered elsewhere
    std::string name = {};  ///< what messages call the file, where its path says little
};

/// Where bytes go: one open file of one backend. Every call is thread-safe against every other on the same object
/// (I/O threads share it) and blocks its caller. No call throws.
class File {
  public:
    virtual ~File() = default;

    /// Writes all of `data` at `offset` bytes, extending the file where needed; an error when fewer bytes went
    /// (short writes are continued, EINTR repeated).
    virtual Status write_at(std::span<const std::byte> data, std::int64_t offset) = 0;
    /// Reads into `data` from `offset` bytes; returns the bytes read, fewer than asked only at the end of the file.
    virtual Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) = 0;
    virtual Result<std::int64_t> size_bytes() = 0;
    virtual Status set_size(std::int64_t bytes) = 0;
    /// Makes sure that `bytes` from 0 have storage behind them; what is there stays, the size grows to `bytes` if it was less.
    virtual Status preallocate(std::int64_t bytes) = 0;
    /// What was written is on stable storage on return.
    virtual Status sync() = 0;
    /// Closes; the object takes no further call. The destructor closes too and drops the Status.
    virtual Status close() = 0;

    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
    /// The kernel's descriptor where the backend has one (io_uring needs it), else -1.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    /// Where the file's contents are kept after close: false for `null`.
    [[nodiscard]] virtual bool keeps_data() const noexcept { return true; }
    /// Preferred alignment of file accesses: the file system's stripe or block size.
    [[nodiscard]] virtual std::int64_t stripe_bytes() const noexcept { return 4096; }
};

using FilePtr = std::unique_ptr<File>;

/// Opens `path` with the backend named by its prefix, as ROMIO does: "null:run.nc", "memory:run.nc",
/// "throttled:MODEL:run.nc" (throttled.hpp); no prefix or "posix:" is the file system. HAKOBI_FAULT lets an operation
/// fail, for tests (faulty.hpp).
Result<FilePtr> open_file(const std::string& path, const OpenMode& mode);
Status remove_file(const std::string& path);
/// Replaces `to` if it exists, in one step; both names have the same prefix.
Status rename_file(const std::string& from, const std::string& to);

/// For backends: invalid_argument for a negative offset, or size, and no_space for `length` bytes from there where they
/// end beyond 2^63 bytes; "<what> <path>: …".
Status check_range(std::int64_t offset, std::size_t length, std::string_view what, std::string_view path);

}  // namespace hakobi::storage
