#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hakobi::storage {

/// The operations that an object store allows. Nothing is ever renamed, and only `RangedObjects` change a
/// part of an object.
struct ObjectAbilities {
    std::string_view kind = {};         ///< for people: "s3"
    std::int64_t max_object_bytes = 0;  ///< of one put
    std::int64_t min_part_bytes = 0;    ///< of an upload's parts, the last aside
    std::int64_t max_part_bytes = 0;
    int max_parts = 0;                  ///< 0: there are no uploads in parts
    bool creates_conditionally = true;  ///< of several puts with `only_if_absent` just one succeeds
    bool lists_what_was_put = true;     ///< a listing has all that was put before it began, whoever put it
    bool lists_by_prefix = true;        ///< else a listing costs as much as all objects of the store
    bool compares_versions = true;      ///< `get` finds out that an object has been replaced
    int num_requests = 1;               ///< under way at once, from which on more gain little
};

/// An object's metadata, which a store returns without reading the object.
struct ObjectFacts {
    std::int64_t size_bytes = 0;
    std::string version;           ///< other bytes under the same name have another one (an ETag)
    std::int64_t modified_ns = 0;  ///< since 1970, by the server's clock; S3 counts seconds
};
struct ListedObject {
    std::string name;
    ObjectFacts facts;  ///< RADOS lists names only: size_bytes is -1 there
};
struct Listing {
    std::vector<ListedObject> objects;  ///< by name, bytewise
    std::vector<std::string> prefixes;  ///< up to the delimiter and with it, each once, by name
    bool is_whole = true;               ///< false: stopped at `max_entries`
};
struct ListMode {
    std::string prefix = {};  ///< of names
    std::string delimiter =
        {};  ///< one character, as a rule "/": names that hold it behind the prefix become prefixes
    std::string start_after = {};  ///< only names and prefixes behind this
    std::int64_t max_entries = 0;  ///< 0: all, however many requests that takes
};

struct PutMode {
    bool only_if_absent = false;  ///< else what has the name is replaced; `exists` where there is one
};
struct GetMode {
    std::string version =
        {};  ///< the facts' when it was looked up: `io` where the object has been replaced since
};
/// A part of an upload that has arrived.
struct UploadedPart {
    int number = 0;   ///< from 1
    std::string tag;  ///< the server's word for its bytes
    std::int64_t size_bytes = 0;
};
/// An upload that is neither complete nor given up.
struct OpenUpload {
    std::string name;
    std::string id;
};

/// A flat set of named byte strings under a root: a bucket and prefix, a pool, a folder. An object comes into
/// being whole (with `put` or `complete_upload`) or not at all, and what was acknowledged is on the server's
/// stable storage. Every call is thread-safe against every other, blocks its caller, and has repeated what
/// may be repeated before it reports an error. No call throws but for memory. All are local.
///
/// Names: 1 to 900 bytes of UTF-8 in segments divided by single slashes, no segment "." or ".." or beginning
/// with ".hakobi-", no control characters; no name is another's first segments. `invalid_argument` otherwise.
///
/// Errors: not_found (also: no bucket, no pool), exists, permission (also: wrong credentials, a clock that is
/// wrong), no_space, unsupported, io. Texts name the object, and never a credential.
class Objects {
  public:
    virtual ~Objects() = default;

    virtual Status put(const std::string& name, std::span<const std::byte> bytes, const PutMode& mode) = 0;
    Status put(const std::string& name, std::span<const std::byte> bytes) { return put(name, bytes, {}); }
    /// Puts over the object that has `version` (ObjectFacts; "": where there is none), and returns the new
    /// one. `exists` where another put, or removal, has come between: of several that know one version just
    /// one succeeds.
    virtual Result<std::string> replace(const std::string& name, std::span<const std::byte> bytes,
                                        const std::string& version) = 0;
    /// Bytes from `offset` on; returns how many, fewer than asked only at the object's end.
    virtual Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into,
                                     const GetMode& mode) = 0;
    Result<std::int64_t> get(const std::string& name, std::int64_t offset, std::span<std::byte> into) {
        return get(name, offset, into, {});
    }
    virtual Result<ObjectFacts> facts(const std::string& name) = 0;
    virtual Result<Listing> list(const ListMode& mode) = 0;
    /// An object that is not there has been removed.
    virtual Status remove(const std::string& name) = 0;

    /// For names that begin with `prefix`, which are listed often: where a listing costs as much as the whole
    /// pool (RADOS), they are kept beside `holder`, an object that is there before the first of them and goes
    /// after the last. Every handle that puts or removes one says so first. An object that a process was
    /// putting when it was killed may be missing from a listing of these.
    virtual void keep_names(const std::string& prefix, const std::string& holder);

    // An upload in parts: several threads and processes may send them, in any order, and one completes it.
    // Parts are numbered from 1; all but the last have min_part_bytes or more. A part that comes again
    // replaces the first.
    virtual Result<std::string> begin_upload(const std::string& name);
    virtual Result<UploadedPart> put_part(const std::string& name, const std::string& upload, int number,
                                          std::span<const std::byte> bytes);
    /// By number; not_found where the upload is complete or given up.
    virtual Result<std::vector<UploadedPart>> parts(const std::string& name, const std::string& upload);
    /// Makes the object of `parts`, by number. After an error (`exists`) the upload is still there, to be
    /// given up.
    virtual Status complete_upload(const std::string& name, const std::string& upload,
                                   std::span<const UploadedPart> parts, const PutMode& mode);
    /// One that is not there has been given up.
    virtual Status abort_upload(const std::string& name, const std::string& upload);
    /// Those of names with a prefix: what a killed process has left, and what is under way.
    virtual Result<std::vector<OpenUpload>> uploads(const std::string& prefix);

    [[nodiscard]] virtual const ObjectAbilities& abilities() const noexcept = 0;
    /// As people write it: "s3://bucket/prefix".
    [[nodiscard]] virtual const std::string& root() const noexcept = 0;
    /// Itself, where parts of objects can be changed; else null.
    [[nodiscard]] virtual class RangedObjects* ranged() noexcept { return nullptr; }
};

/// Objects that can be changed in place.
class RangedObjects : public Objects {
  public:
    /// Makes the object where it is missing, and extends it; bytes that nobody has written read as zeros.
    virtual Status write(const std::string& name, std::int64_t offset, std::span<const std::byte> bytes) = 0;
    /// Cuts or extends the object; makes it where it is missing.
    virtual Status resize(const std::string& name, std::int64_t size_bytes) = 0;
    /// A number that belongs to an object, from 0: set, or only raised. Makes the object where it is missing;
    /// `put` leaves it.
    virtual Status set_number(const std::string& name, std::int64_t number) = 0;
    virtual Status raise_number(const std::string& name, std::int64_t number) = 0;
    virtual Result<std::int64_t> number(const std::string& name) = 0;
    RangedObjects* ranged() noexcept override { return this; }
};

using ObjectsPtr = std::shared_ptr<Objects>;

/// Opens what a root names: "s3://bucket/prefix", "rados:pool/prefix", "memory:name", or a folder of the file
/// system, which the first put makes. No request is sent: a server that is not there is found by the first
/// call. `unsupported` where a library is missing, `invalid_argument` for a root or settings that cannot be
/// read.
Result<ObjectsPtr> open_objects(const std::string& root);

/// Invalid_argument where a name breaks the rules above.
Status check_object_name(std::string_view name);

}  // namespace hakobi::storage
