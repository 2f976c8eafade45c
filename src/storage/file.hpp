#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "storage/abilities.hpp"
#include "storage/layout.hpp"
#include "storage/storage_profile.hpp"

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
    /// Processes of several nodes write it at once: past the node's cache where that would lose what others
    /// wrote, or hide it, and the file system takes any bytes so (Abilities::passes_cache).
    bool is_shared = false;
    /// Another node made the file, perhaps just now: on NFS the name is looked up at the server, not in this
    /// node's cache.
    bool is_others = false;
    /// Only a regular file of just that name: `exists` (to be written) or `format` (to be read), at once,
    /// where a symbolic link, a FIFO or a device has it.
    bool regular_only = false;
    std::string name = {};  ///< what messages call the file, where its path says little
    std::string root = {};  ///< a folder that the path does not leave, by links either (beneath.hpp)
};

/// Where bytes go: one open file of one backend. Every call is thread-safe against every other on the same
/// object (I/O threads share it) and blocks its caller. No call throws.
class File {
  public:
    virtual ~File() = default;

    /// Writes all of `data` at `offset` bytes, extending the file where needed; an error when fewer bytes
    /// went (short writes are continued, EINTR repeated).
    virtual Status write_at(std::span<const std::byte> data, std::int64_t offset) = 0;
    /// Reads into `data` from `offset` bytes; returns the bytes read, fewer than asked only at the end of the
    /// file.
    virtual Result<std::int64_t> read_at(std::span<std::byte> data, std::int64_t offset) = 0;
    virtual Result<std::int64_t> size_bytes() = 0;
    virtual Status set_size(std::int64_t bytes) = 0;
    /// Makes sure that `bytes` from 0 have storage behind them; what is there stays, the size grows to
    /// `bytes` if it was less.
    virtual Status preallocate(std::int64_t bytes) = 0;
    /// For who fills holes of the range (range_lock.hpp); waits for others. Ranges of one object do not
    /// exclude each other. `unsupported` where `abilities().locks_ranges` is false.
    virtual Status lock_range(std::int64_t offset, std::int64_t length);
    virtual Status unlock_range(std::int64_t offset, std::int64_t length);
    /// Brings all written bytes to stable storage before it returns.
    virtual Status sync() = 0;
    /// Closes; the object takes no further call. The destructor closes too and drops the Status.
    virtual Status close() = 0;

    [[nodiscard]] virtual const std::string& path() const noexcept = 0;
    /// The kernel's descriptor where the backend has one (io_uring needs it), else -1.
    [[nodiscard]] virtual int descriptor() const noexcept { return -1; }
    /// The same for what stands behind the file's last byte (series/receipts.hpp), which may be another file.
    [[nodiscard]] virtual int descriptor_behind() const noexcept { return descriptor(); }
    /// As they were found when the file was opened.
    [[nodiscard]] virtual const Abilities& abilities() const noexcept;
    /// Where its bytes lie, as it was found when the file was opened; no stripes where the storage has none
    /// or does not say.
    [[nodiscard]] virtual const Layout& layout() const noexcept;
    /// Shared by all files of one device; a file without a descriptor has its own.
    [[nodiscard]] StorageProfile& profile();

  private:
    std::once_flag profile_found_;
    std::shared_ptr<StorageProfile> profile_;
};

using FilePtr = std::unique_ptr<File>;

/// Opens `path` with the backend named by its prefix, as ROMIO does: "null:run.nc", "memory:run.nc"; no
/// prefix or "posix:" is the file system. HAKOBI_FAULT lets an operation fail, for tests (faulty.hpp).
Result<FilePtr> open_file(const std::string& path, const OpenMode& mode);
/// `root` as in OpenMode.
Status remove_file(const std::string& path, const std::string& root = {});
/// All bytes of a file, at most `most_bytes` of its beginning.
Result<std::vector<std::byte>> read_whole(const std::string& path, const OpenMode& mode = {},
                                          std::int64_t most_bytes = std::numeric_limits<std::int64_t>::max());
/// remove_file where an error is reported already: what fails stays.
void discard_file(const std::string& path, const std::string& root = {}) noexcept;

struct CommitMode {
    bool replaces = false;    ///< what has the name; else it is an error, `exists`
    bool is_durable = false;  ///< the name is on stable storage on return
    std::string root = {};    ///< as in OpenMode, for those of both names that lie in it
};
/// Gives a whole file its final name, in one step where the storage can do that: by a rename, or by
/// completing an upload. Both names have the same scheme.
Status commit_file(const std::string& from, const std::string& to, const CommitMode& mode = {});
/// Replaces `to` if it exists.
Status rename_file(const std::string& from, const std::string& to);

/// An entry of a folder.
struct Listed {
    enum class Kind { file, folder, other };  ///< links are others
    std::string name;
    Kind kind = Kind::file;
};
/// In no order; not_found where there is no such folder. `root` as in OpenMode.
Result<std::vector<Listed>> list_folder(const std::string& folder, const std::string& root = {});

/// A name as the system knows it: `none` where nothing has it, and on storage that is not the file system.
struct FileFacts {
    enum class Kind { none, file, folder, link, other };
    Kind kind = Kind::none;
    std::int64_t size_bytes = 0;
    std::int64_t num_names = 0;  ///< hard links
    [[nodiscard]] bool is_there() const noexcept { return kind != Kind::none; }
    [[nodiscard]] bool is_file() const noexcept { return kind == Kind::file; }
    [[nodiscard]] bool is_folder() const noexcept { return kind == Kind::folder; }
};
[[nodiscard]] FileFacts facts_of(const std::string& path);
/// The same of what a link leads to.
[[nodiscard]] FileFacts facts_behind(const std::string& path);
/// Two that are equal: nobody has replaced or changed the file meanwhile.
struct FileVersion {
    std::int64_t device = 0, inode = 0, size_bytes = 0, modified_ns = 0, changed_ns = 0;
    friend bool operator==(const FileVersion&, const FileVersion&) = default;
};
/// The version of the file that the path leads to; nothing where none is there, or the backend has no paths
/// of the system.
[[nodiscard]] std::optional<FileVersion> file_version_of(const std::string& path);

/// The scheme of an address, "gs" of "gs://bucket/run"; "" of any other path. Pure.
[[nodiscard]] std::string_view scheme_of_address(std::string_view path);
/// unsupported: names the storages that there are. Pure.
[[nodiscard]] Status no_such_storage(std::string_view path);
/// Returns no_such_storage for an address that no backend takes, which would otherwise be the path of a file
/// in a folder "gs:". A host in a file system's address ("nfs://server/run") is such a case, too. Local.
Status check_address(const std::string& path);

/// The name by which the system knows the file, without what names its backend; "" where that is not the file
/// system.
[[nodiscard]] std::string system_path(const std::string& path);
/// system_path, or the path itself where there is none.
[[nodiscard]] std::string name_for_people(const std::string& path);
/// The name by which other processes find the file: the system's, or that of an object store with its scheme,
/// without decorators; "" where nothing is found by a name.
[[nodiscard]] std::string lasting_path(const std::string& path);

/// A layer in front of files of any backend: "NAME:TEXT:PATH" opens PATH, and the function that `read` made
/// of TEXT gets the file (or `read` says what is wrong with the text, and nothing is opened). Tests and
/// benchmarks have one (a storage model); the library has none.
struct Decorator {
    std::string_view name;
    Result<std::function<FilePtr(FilePtr)>> (*read)(std::string_view text) = nullptr;
};
/// For every open_file from now on. `decorator.name` lives as long as the process.
void add_decorator(const Decorator& decorator);

/// For backends: invalid_argument for a negative offset, or size, and no_space for `length` bytes from there
/// where they end beyond 2^63 bytes; "<what> <path>: …".
Status check_range(std::int64_t offset, std::size_t length, std::string_view what, std::string_view path);

}  // namespace hakobi::storage
