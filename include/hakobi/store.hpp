#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <hakobi/error.hpp>
#include <hakobi/export.hpp>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hakobi {
inline namespace v0 {

/// Identifies a field by keywords and values: "class=od,step=24,param=130". Keywords are unique and keep
/// their order.
class HAKOBI_EXPORT Key {
  public:
    using Entry = std::pair<std::string, std::string>;
    Key() = default;
    Key(std::initializer_list<Entry> entries);
    /// Reads "keyword=value,keyword=value". Throws invalid_argument.
    [[nodiscard]] static Key parse(std::string_view text);

    /// Sets the keyword's value, replacing an earlier one.
    Key& set(std::string_view keyword, std::string_view value);
    /// The keyword's value, or "" if it has none.
    [[nodiscard]] std::string_view get(std::string_view keyword) const noexcept;
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Key&, const Key&) = default;

  private:
    std::vector<Entry> entries_;
};

/// Options of Store::open. Sizes are in bytes. docs/store.md lists FDB's names for them.
struct StoreOptions {
    /// Schema of a new store: "weather", "grib", "flow", "lattice", or the path of a schema file. "": the
    /// store must exist. An existing store keeps its schema; naming a different one is an error.
    std::string schema = {};
    /// Name of the writer: part of its files' names, unique among processes that write at the same time. "":
    /// made from host and process.
    std::string writer = {};
    bool asynchronous = true;  ///< archive copies into buffers that I/O threads write; false: archive writes
    int num_buffers = 4;       ///< asynchronous: at least 2
    std::int64_t buffer_bytes = 64 << 20;  ///< size of each buffer; at least 64 KiB
    int num_threads = 4;                   ///< maximum number of I/O threads, for writing and reading
    std::int64_t pad_bytes =
        0;  ///< fields begin at multiples of this, such as the file system's block size; 0: no padding
    bool sync = true;            ///< flush puts data and index on stable storage (one sync each)
    bool sync_directory = true;  ///< also sync the names of new files, once per writer
    bool huge_pages = false;     ///< ask the kernel for huge pages for the buffers
    bool direct = false;         ///< O_DIRECT if the storage supports it; use with pad_bytes = 4096
};

/// A field in the store.
struct FieldInfo {
    Key key;           ///< all keywords that the field has, in the schema's order, dataset first
    std::string form;  ///< what the bytes are, as given to archive: "", "grib", "float64[180,360]"
    std::string file;  ///< path of the data file, or of the object
    std::int64_t offset_bytes = 0;  ///< in it
    std::int64_t length_bytes = 0;
    std::uint64_t checksum = 0;   ///< XXH3 (64 bits) of the bytes
    std::int64_t flushed_ns = 0;  ///< time of its flush, since 1970
    bool is_replaced = false;     ///< a later flush has a field of the same key
};

enum class FieldOrder {
    key,  ///< by dataset, collocation, then the schema's keywords; numbers in numerical order
    file  ///< as stored in the data files: the fastest to read
};

/// Options of list.
struct Selection {
    FieldOrder order = FieldOrder::key;
    bool with_replaced = false;  ///< include fields that a later flush replaced
    /// true: a value in the request that no field of the store has throws not_found, naming the nearest
    /// existing one. false: such a value selects nothing.
    bool is_strict = true;
};

/// The fields that a request selected at the time of the call. Copies are cheap; later flushes do not change
/// it.
class HAKOBI_EXPORT Listing {
  public:
    [[nodiscard]] std::int64_t size() const noexcept;
    [[nodiscard]] FieldInfo operator[](std::int64_t index) const;
    [[nodiscard]] std::int64_t length_bytes(std::int64_t index) const;
    [[nodiscard]] std::int64_t total_bytes() const;
    /// Appends the field's line, "class=od,…,number=,levelist=500,param=130", to `text`: its key as a request
    /// for this field alone. Keywords that it does not have, and another field of the store does, have an
    /// empty value.
    void append_text(std::int64_t index, std::string& text) const;
    /// The field's value of a keyword, or "" if it has none.
    [[nodiscard]] std::string value(std::int64_t index, std::string_view keyword) const;
    /// The keywords of the fields, in the schema's order.
    [[nodiscard]] std::vector<std::string> keywords() const;

    struct Impl;
    explicit Listing(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

  private:
    std::shared_ptr<const Impl> impl_;
};

/// Counters of a writer.
struct StoreCounters {
    std::int64_t num_fields = 0, num_bytes = 0;  ///< archived
    std::int64_t num_flushes = 0;
    std::int64_t index_bytes = 0;      ///< written to the index
    std::int64_t num_data_writes = 0;  ///< number of calls that wrote data, and the seconds in them
    double data_write_s = 0;
    std::int64_t num_data_syncs = 0, num_index_syncs = 0, num_directory_syncs = 0;
    double sync_s = 0;
    double wait_s = 0;                  ///< time that archive waited for a free buffer
    std::string data_file, index_file;  ///< "" before the first field
};

/// Archives fields and finds them by keywords. Each process opens the store separately, without MPI. Any
/// number of writers and readers work concurrently without locks; each writer has its own files.
/// docs/store.md is the manual, src/store/format.hpp describes the files.
///
/// An object may be used from several threads; archive and flush of one object exclude each other. Errors are
/// thrown immediately: invalid_argument (keys, requests, options), not_found, exists, permission, unsupported
/// (a store of a newer version), format (damaged files), no_space, io. After a failed write archive and flush
/// throw `failed`; everything flushed earlier is kept.
class HAKOBI_EXPORT Store {
  public:
    /// Opens the store in the folder `path`, or makes one (StoreOptions::schema). Several processes may do
    /// this at the same time. A writer's files are made by its first archive. "s3://bucket/prefix" and
    /// "rados:pool/prefix" are stores on object storage (docs/store.md); they throw unsupported where libcurl
    /// or librados is missing.
    [[nodiscard]] static Store open(std::string_view path, StoreOptions options = {});

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    /// Discards fields that were archived but not flushed.
    ~Store();

    /// Adds a field of at least one byte; flush makes it visible. `bytes`, memory of the host, may be reused
    /// on return. `form` describes them (FieldInfo::form). Throws invalid_argument for a key for which the
    /// schema has no rule, naming the nearest keyword and its level, and for a value that a request cannot
    /// ask for: `*`, `all`, or one with ',', '=', '/', a control character, or a blank at an end; unsupported
    /// for memory of a device.
    void archive(const Key& key, std::span<const std::byte> bytes, std::string_view form = {});
    /// Adds each field of a GRIB message under its own keywords (grib_key), with form "grib"; of a message
    /// with several fields each as a message of its own. Throws as archive and grib_key. If you know the key,
    /// archive is faster.
    void archive_grib(std::span<const std::byte> message);
    /// Makes all archived fields durable and visible together, with one sync of the data and one of the
    /// index.
    void flush();

    /// The fields that the request selects: "param=t/u,levelist=500/850,step=0/to/24/by/6"; "" selects all. A
    /// value may be a list a/b/c, a range a/to/b/by/c, * (any value, as without the keyword), or empty (no
    /// value). Throws invalid_argument for an unknown keyword or a value that does not match the keyword's
    /// type; not_found: see Selection::is_strict.
    [[nodiscard]] Listing list(std::string_view request = {}, const Selection& selection = {}) const;

    using Receiver = std::function<void(const FieldInfo& field, std::span<const std::byte> bytes)>;
    /// Reads the fields of a listing, several at a time and adjacent ones together, and passes them to
    /// `receive` on this thread, in the listing's order. Verifies their checksums; throws format if one
    /// differs.
    void retrieve(const Listing& fields, const Receiver& receive) const;
    /// The field with this key. Throws not_found if there is none, invalid_argument if the key matches
    /// several.
    [[nodiscard]] std::vector<std::byte> retrieve(const Key& key) const;
    /// Reads part of a field, from `offset_bytes`, into `bytes`, without verification. Throws
    /// invalid_argument if the part exceeds the field.
    void read(const FieldInfo& field, std::int64_t offset_bytes, std::span<std::byte> bytes) const;

    /// Makes fields visible that other writers have flushed since (list and retrieve include this).
    void refresh() const;
    [[nodiscard]] StoreCounters counters() const;
    [[nodiscard]] std::string path() const;
    /// The schema's text.
    [[nodiscard]] std::string schema() const;
    /// Problems found while reading the indexes, one line each; `hakobi store check` reports details.
    [[nodiscard]] std::vector<std::string> warnings() const;
    /// Ends writing: discards unflushed fields and closes the files. Throws errors of closing. Reading stays
    /// possible.
    void close();

    struct Impl;
    /// For the library's own parts.
    [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

  private:
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace v0
}  // namespace hakobi
