#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "storage/file.hpp"
#include "storage/objects/put_file.hpp"

namespace hakobi::storage {

/// The abilities of a place, which follow from its kind.
struct PlaceLimits {
    /// Folders of the file system: the kernel, MPI's library and other programs open files there by name.
    bool has_system_names = false;
    /// Files there are written in parts, and get their names by a rename. Else each is put whole, as one
    /// object.
    bool takes_ranges = true;
    /// Objects of a server: puts are conditional, so that a marker keeps other writers out. Elsewhere a lock
    /// does.
    bool is_on_objects = false;
    /// Other processes find by name what is put there.
    bool keeps_names = false;
    int num_at_once = 1;  ///< of requests, from which on more gain little; bounds memory, too
};

/// A folder of a file system, or a part of a bucket's or pool's names: decided once, from a path, and asked
/// from then on in place of its scheme. `inside` is a name there, "zarr.json", "eta/c.12.0.0"; "" is the
/// place itself. In a folder no link and no ".." leads out (beneath.hpp); objects have none. Local; no
/// request is sent before a call that needs one. Thread-safe.
class Place {
  public:
    Place(std::string path, PlaceLimits limits) : path_(std::move(path)), limits_(limits) {}
    virtual ~Place() = default;
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    [[nodiscard]] const PlaceLimits& limits() const noexcept { return limits_; }
    /// "STORE/eta/zarr.json": what messages call it.
    [[nodiscard]] std::string path_of(std::string_view inside) const;

    /// The name by which the system knows a path there; "" where limits().has_system_names is false.
    [[nodiscard]] std::string system_name(const std::string& path) const;

    /// There already is fine, also what is no folder: who goes through it tells that. With "" also those
    /// above. With `sync` its name is on stable storage. Objects need none.
    virtual Status make_folder(const std::string& inside, bool sync) const = 0;
    /// Replaces the file or object at once; with `sync` it is on stable storage first, as an object always
    /// is.
    virtual Status put(const std::string& inside, std::span<const std::byte> bytes, bool sync) const = 0;
    /// The same of an object that must still have this version ("": that must not be there), and gets
    /// another: `exists` where it has not. A file is only put.
    virtual Status replace(const std::string& inside, std::span<const std::byte> bytes, std::string& version,
                           bool sync) const = 0;
    /// Puts what must not be there: `exists` where it is.
    virtual Status put_new(const std::string& inside, std::span<const std::byte> bytes) const = 0;
    /// A copy of a whole file, which `from` outlives. `only_if_absent` as in PutMode, of objects.
    virtual Status put_file(const std::string& from, std::int64_t file_bytes, const std::string& inside,
                            bool sync, const Pace& pace, const PutMode& mode = {}) const = 0;
    /// Gives a whole file its place, where it replaces what is there. Nothing is done where `from` is not
    /// there and `inside` is.
    virtual Status commit(const std::string& from, const std::string& inside, bool sync) const = 0;
    /// All of it, of a file at most `most_bytes` of its beginning, and an object's version; nothing where
    /// there is none.
    [[nodiscard]] virtual Result<std::optional<WholeObject>> get_beginning(const std::string& inside,
                                                                           std::int64_t most_bytes) const = 0;
    [[nodiscard]] Result<std::optional<WholeObject>> get(const std::string& inside) const {
        return get_beginning(inside, std::numeric_limits<std::int64_t>::max());
    }
    /// The version of an object; "" for a file.
    [[nodiscard]] virtual Result<std::string> version_of(const std::string& inside) const = 0;
    /// Nothing where there is none; format for what is no file.
    [[nodiscard]] virtual Result<std::optional<std::int64_t>> size_of(const std::string& inside) const = 0;
    /// The largest file that put_file takes, and the bucket or pool whose limit it is.
    struct FileLimit {
        std::int64_t bytes = 0;
        std::string root = {};
    };
    [[nodiscard]] virtual Result<FileLimit> file_limit() const = 0;
    /// Directly there; not_found where there is no such folder.
    [[nodiscard]] Result<std::vector<Listed>> list(const std::string& inside) const;
    /// Gone already is fine.
    virtual Status remove(const std::string& inside) const = 0;
    /// Removes a folder with nothing in it; one that others have put something into stays.
    virtual Status remove_folder(const std::string& inside) const = 0;

  private:
    std::string path_;
    PlaceLimits limits_;
};

using PlacePtr = std::shared_ptr<const Place>;

/// The place with this path: "run.zarr", "s3://bucket/run.zarr", "rados:pool/run.zarr"; of a scheme that
/// keeps nothing, "memory:", one without folders.
[[nodiscard]] PlacePtr open_place(const std::string& path);
/// The place that has a path, and the name there: "run.staged" in "folder" for "folder/run.staged".
struct PlacedName {
    PlacePtr place;
    std::string name;
};
[[nodiscard]] PlacedName open_place_of(const std::string& path);
/// The limits that open_place would give it. Pure but for decorators, which it passes over.
[[nodiscard]] PlaceLimits limits_of(const std::string& path);

}  // namespace hakobi::storage
