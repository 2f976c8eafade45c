#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"
#include "store/format.hpp"

namespace hakobi::storage {
class Objects;
}

namespace hakobi::store {

/// Bytes of a data file that are there.
struct Extent {
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;
};

/// A writer's files in a store: its log, which is called the index, and its data.
struct WriterFiles {
    std::string stem;  ///< "<writer>.<id>", 16 hexadecimal digits
    std::uint64_t id = 0;
    bool has_index = false;
    bool has_data = false;
    /// On object storage, rising: where the log's objects begin.
    std::vector<std::int64_t> log_offsets;
};

/// The contents of a store.
struct FolderContents {
    std::vector<WriterFiles> writers;    ///< by stem
    std::vector<std::string> leftovers;  ///< names of temporary files, which only a killed process leaves
    bool has_catalogue = false;
};

/// A log of our own: records go to its end.
class OwnLog {
  public:
    virtual ~OwnLog() = default;
    /// One commit at `end_bytes`, where the log ends (steps 3 and 4 of format.hpp). `exists` where the log
    /// was ended by others. After any error nobody knows whether the record is there; `cut` settles it.
    virtual Status append(std::span<const std::byte> bytes, std::int64_t end_bytes, bool sync) = 0;
    /// After a failed append: from now on there is nothing at `end_bytes`, or `end` (an end record). An error
    /// where that cannot be had, or what was appended is there after all.
    virtual Status cut(std::int64_t end_bytes, std::span<const std::byte> end) = 0;
    /// Takes the log away: nothing was recorded in it.
    virtual void remove() = 0;
    /// No call follows. An error where what was appended without sync may be lost.
    virtual Status close() = 0;
};

/// The part of a log from `begin_bytes` on.
struct LogTail {
    const WriterFiles* files = nullptr;  ///< of a look
    std::int64_t begin_bytes = 0;
    storage::FilePtr* file =
        nullptr;  ///< kept open by who reads again, where there is a file; null: opened here
    bool is_latest =
        true;  ///< also what was added since that look; false, where looking costs more: what it has
    std::vector<std::byte> bytes;
    std::int64_t size_bytes =
        0;  ///< the log's; given as it was when it was read last: nothing is read if it still is
    bool is_gone = false;  ///< there is no such log any more, or it has become shorter
    Status status;
};

/// Closes a store to writers while it lives (gate.hpp).
class HeldGate {
  public:
    virtual ~HeldGate() = default;
    /// The store's folder was renamed, and the gate with it.
    virtual void follow(const std::string& path) = 0;
};

/// Where a store lies, and the few things that it asks of storage: a folder (folder_place.cpp) or objects
/// (object_place.cpp). Code that needs none of these is the same for both. Names are relative to the store.
/// Thread-safe.
class Place {
  public:
    explicit Place(std::string path) : path_(std::move(path)) {}
    virtual ~Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    /// As people write it: "forecast", "s3://bucket/forecast".
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    /// Whether it is a folder of the file system, which is moved by a rename.
    [[nodiscard]] virtual bool is_folder() const = 0;

    // Files written whole: marker, schema, catalogue.
    /// Its size in bytes; none where it is not there.
    [[nodiscard]] virtual Result<std::optional<std::int64_t>> size_of(std::string_view name) = 0;
    [[nodiscard]] virtual Result<std::vector<std::byte>> read(std::string_view name) = 0;
    /// There whole or not at all, and on stable storage.
    enum class IfExists { replace, keep };
    virtual Status write(std::string_view name, std::span<const std::byte> bytes, IfExists if_exists) = 0;
    /// Removes it; a missing name is no error.
    virtual Status remove(std::string_view name) = 0;
    /// A name that is in the way of a new store, or "": one that is neither marker nor schema. Makes the
    /// folder.
    [[nodiscard]] virtual Result<std::string> in_the_way() = 0;
    /// Removes everything but gates.
    virtual Status remove_all() = 0;

    // Contents.
    enum class Look { logs, everything };
    /// With `logs` only writers that have an index, and nothing else. Throws.
    [[nodiscard]] virtual FolderContents contents(Look look) = 0;
    /// False where nothing has come or gone since `stamp` was returned here. 0: true.
    [[nodiscard]] virtual bool has_changed(std::int64_t& stamp) = 0;
    /// Makes creations, renames and removals permanent. Throws.
    virtual void sync_names() = 0;
    /// Removes a name of FolderContents::leftovers unless it may be one that is just being made; its bytes.
    virtual std::optional<std::int64_t> remove_leftover(const std::string& name) = 0;

    // Logs.
    [[nodiscard]] virtual std::string index_path(std::string_view stem) const = 0;
    /// Makes a log that begins with this header, and lives. Throws.
    [[nodiscard]] virtual std::unique_ptr<OwnLog> make_log(const std::string& stem,
                                                           std::span<const std::byte> header, bool sync) = 0;
    /// This process, as a header names it for `is_alive`; "" where a lock tells.
    [[nodiscard]] virtual std::string own_process() const = 0;
    /// Whether a log is ended by a record, since nothing else tells that its writer is done.
    [[nodiscard]] virtual bool ends_logs() const = 0;
    virtual void read_logs(std::span<LogTail> tails) = 0;
    /// Whether the log is there now; asked of the storage, not of a look.
    [[nodiscard]] virtual bool has_log(const std::string& stem) = 0;
    /// Cuts an unfinished record off. A log that others have removed is no error.
    virtual Status cut_log(const std::string& stem, std::int64_t bytes) = 0;
    virtual Status remove_log(const std::string& stem) = 0;
    /// Whether the writer may still flush, as far as can be seen.
    [[nodiscard]] virtual bool is_alive(const WriterFiles& files) = 0;
    /// Whether the writer is dead for good. Asked before what it leaves is read: afterwards nothing is added
    /// to it. Where death is not certain but likely, the log is ended, so that it is.
    [[nodiscard]] virtual bool is_over(const WriterFiles& files) = 0;

    // Data.
    [[nodiscard]] virtual std::string data_path(std::string_view stem) const = 0;
    /// Where people find byte `offset` of a writer's data: a file's or an object's path, and the offset
    /// there.
    [[nodiscard]] virtual std::pair<std::string, std::int64_t> data_place(
        std::string_view stem, std::int64_t offset_bytes) const = 0;
    /// 0: fields lie one after the other. Else the largest object that may be made: each buffer is one, no
    /// field is in two.
    [[nodiscard]] virtual std::int64_t most_object_bytes() const = 0;
    [[nodiscard]] virtual Result<storage::FilePtr> make_data(const std::string& stem, bool direct) = 0;
    /// A path of `data_place`, to be read.
    [[nodiscard]] virtual Result<storage::FilePtr> open_data(const std::string& path) = 0;
    /// Rising. Throws.
    [[nodiscard]] virtual std::vector<Extent> data_extents(const std::string& stem) = 0;
    /// Removes what lies behind `bytes`. Data that others have removed are no error.
    virtual Status cut_data(const std::string& stem, std::int64_t bytes) = 0;
    virtual Status remove_data(const std::string& stem) = 0;
    /// Gives back what storage the removed extents had, as far as it can be without a field that is left:
    /// `holds_fields` says whether one has bytes from `begin` to `end`.
    virtual void give_back(const std::string& stem, std::span<const Extent> removed,
                           const std::function<bool(std::int64_t begin, std::int64_t end)>& holds_fields) = 0;

    // Gates (gate.hpp).
    /// Throws exists where another one is held, naming its maker.
    [[nodiscard]] virtual std::unique_ptr<HeldGate> hold_gate(const std::string& maker) = 0;
    /// Who holds one, and what a person removes where that one was killed.
    struct GateInfo {
        std::string maker, path;
    };
    [[nodiscard]] virtual std::optional<GateInfo> held_gate() = 0;
    /// Removes gates whose makers are dead; whether there was one.
    virtual bool remove_dead_gates() = 0;

  private:
    std::string path_;
};

using PlacePtr = std::shared_ptr<Place>;

/// The place with this path: "s3://bucket/prefix", "rados:pool/prefix", "objects:FOLDER" (objects in a
/// folder, to try it), else a folder. Nothing is made or asked. Throws unsupported where this build or
/// machine lacks the library, invalid_argument.
[[nodiscard]] PlacePtr open_place(const std::string& path);
/// Whether it would be objects.
[[nodiscard]] bool is_on_objects(std::string_view path);

/// Throws unsupported where the path is the address of storage that holds no stores ("gs://bucket/store").
/// Pure.
void check_address(std::string_view path);

/// Throws exists.
[[noreturn]] void refuse_closed(const std::string& store, const std::string& maker,
                                const std::string& gate_path);

/// For open_place, and for tests.
[[nodiscard]] PlacePtr make_folder_place(const std::string& path);
[[nodiscard]] PlacePtr make_object_place(const std::string& path, std::shared_ptr<storage::Objects> objects);

/// Names of a store.
inline constexpr std::string_view marker_name = "hakobi-store";
inline constexpr std::string_view schema_name = "schema";
inline constexpr std::string_view catalogue_name = "catalogue";
/// A writer on another host that shows no sign of life counts as alive for so long.
inline constexpr double quiet_s = 600;

/// "<writer>.<16 hexadecimal digits>" taken apart: the id, or nothing.
[[nodiscard]] std::optional<std::uint64_t> id_of_stem(std::string_view stem);
[[nodiscard]] std::string hexadecimal(std::uint64_t number, int num_digits = 16);

std::string host_name();
/// Nanoseconds since 1970.
std::int64_t wall_clock_ns();

}  // namespace hakobi::store
