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

/// What a field is called: values by keyword, "class=od,step=24,param=130". Keywords are unique; order is kept.
class HAKOBI_EXPORT Key {
  public:
    using Entry = std::pair<std::string, std::string>;
    Key() = default;
    Key(std::initializer_list<Entry> entries);
    /// Reads "keyword=value,keyword=value". Throws invalid_argument.
    [[nodiscard]] static Key parse(std::string_view text);

    /// Gives the keyword this value, in place of an earlier one.
    Key& set(std::string_view keyword, std::string_view value);
    /// The keyword's value, or "" without one.
    [[nodiscard]] std::string_view get(std::string_view keyword) const noexcept;
    [[nodiscard]] const std::vector<Entry>& entries() const noexcept { return entries_; }
    [[nodiscard]] std::string text() const;
    friend bool operator==(const Key&, const Key&) = default;

  private:
    std::vector<Entry> entries_;
};

/// What Store::open takes. Sizes are in bytes. docs/store.md has each beside FDB's own name for it.
struct StoreOptions {
    /// To make the store where there is none: "weather", "flow", "lattice", or the path of a schema file. "": it must exist.
    /// One that exists keeps its own schema; another one here is an error.
    std::string schema = {};
    /// Who writes here: part of its files' names, and unique among the processes that write at the same time. "": made of
    /// host and process.
    std::string writer = {};
    bool asynchronous =
        true;             ///< archive copies into buffers and I/O threads write; else archive writes itself
    int num_buffers = 4;  ///< asynchronous: at least 2
    std::int64_t buffer_bytes = 64 << 20;  ///< of each; at least 64 KiB
    int num_threads = 4;                   ///< I/O threads at most, writing and reading
    std::int64_t pad_bytes =
        0;             ///< a field begins at a multiple of this: the file system's block; 0: no padding
    bool sync = true;  ///< flush puts data and index on stable storage (one sync of each)
    bool sync_directory = true;  ///< and the names of new files, once a writer
    bool huge_pages = false;     ///< ask the kernel for large pages behind the buffers
    bool direct = false;         ///< O_DIRECT where the storage takes it; pad_bytes of 4096 goes with it
};

/// A field that the store holds.
struct FieldInfo {
    Key key;           ///< every keyword that the field has, in the schema's order, dataset first
    std::string form;  ///< what the bytes are: "", "grib", "float64[180,360]": as archive was told
    std::string file;  ///< path of the data file
    std::int64_t offset_bytes = 0;  ///< in it
    std::int64_t length_bytes = 0;
    std::uint64_t checksum = 0;   ///< XXH3 (64 bits) of the bytes
    std::int64_t flushed_ns = 0;  ///< when its flush was, since 1970
    bool is_replaced = false;     ///< a later flush has a field of the same key
};

enum class FieldOrder {
    key,  ///< by dataset, collocation, then the schema's keywords, numbers as numbers
    file  ///< as they lie in the data files: the fastest to read
};

/// What list and retrieve take besides the request.
struct Selection {
    FieldOrder order = FieldOrder::key;
    bool with_replaced = false;  ///< list: also fields that a later flush replaced
    /// A value in the request that no field of the store has is not_found, with the nearest one that there is; false: it
    /// selects nothing.
    bool is_strict = true;
};

/// The fields that a request selected when it was asked: a value, cheap to copy, which later flushes do not change.
class HAKOBI_EXPORT Listing {
  public:
    [[nodiscard]] std::int64_t size() const noexcept;
    [[nodiscard]] FieldInfo operator[](std::int64_t index) const;
    [[nodiscard]] std::int64_t length_bytes(std::int64_t index) const;
    [[nodiscard]] std::int64_t total_bytes() const;
    /// Appends the field's line, "class=od,…,param=130", to `text`.
    void append_text(std::int64_t index, std::string& text) const;
    /// The field's value of a keyword, "" without one.
    [[nodiscard]] std::string value(std::int64_t index, std::string_view keyword) const;
    /// The keywords that its fields have, in the schema's order.
    [[nodiscard]] std::vector<std::string> keywords() const;

    struct Impl;
    explicit Listing(std::shared_ptr<const Impl> impl) : impl_(std::move(impl)) {}
    [[nodiscard]] const Impl& impl() const noexcept { return *impl_; }

  private:
    std::shared_ptr<const Impl> impl_;
};

/// What a writer has done so far; local.
struct StoreCounters {
    std::int64_t num_fields = 0, num_bytes = 0;  ///< archived
    std::int64_t num_flushes = 0;
    std::int64_t index_bytes = 0;      ///< written for them
    std::int64_t num_data_writes = 0;  ///< calls that wrote data, and the seconds in them
    double data_write_s = 0;
    std::int64_t num_data_syncs = 0, num_index_syncs = 0, num_directory_syncs = 0;
    double sync_s = 0;
    double wait_s = 0;                  ///< archive waited for a free buffer
    std::string data_file, index_file;  ///< "" before the first field
};

/// Fields archived and found by meaning. Each process opens the store for itself, without MPI; any number of writers and
/// readers work at the same time, each writer in files of its own, and no lock is shared. docs/store.md is the manual,
/// src/store/format.hpp the form of the files.
///
/// Calls on one object come from any threads; archive and flush of one object exclude each other. Errors are thrown at
/// once: invalid_argument (keys, requests, options), not_found, exists, permission, unsupported (a newer version's
/// store), format (damage), no_space, io. After a failed write the writer is failed: archive and flush throw `failed`,
/// everything flushed earlier stays.
class HAKOBI_EXPORT Store {
  public:
    /// Opens the store in the folder `path`, or makes one (StoreOptions::schema). Several processes may do so at the same
    /// time. No file is made for a writer before its first archive.
    [[nodiscard]] static Store open(std::string_view path, StoreOptions options = {});

    Store(Store&&) noexcept;
    Store& operator=(Store&&) noexcept;
    /// Drops what was archived and not flushed.
    ~Store();

    /// Takes a field, at least one byte. It is in nobody's list before flush. `bytes` are the caller's again on return.
    /// `form` says what they are (FieldInfo::form). Throws invalid_argument for a key that the schema has no rule for, with
    /// the nearest keyword and its level.
    void archive(const Key& key, std::span<const std::byte> bytes, std::string_view form = {});
    /// Takes one GRIB message, by the MARS keywords that it has (hakobi/grib.hpp); its form is "grib". Throws as archive and
    /// grib_key do. Who knows the key saves the time to read it and calls archive.
    void archive_grib(std::span<const std::byte> message);
    /// Makes everything that this object has archived durable and visible, at once: one sync of the data, one of the index.
    void flush();

    /// The fields that the request selects: "param=t/u,levelist=500/850,step=0/to/24/by/6"; "" is all of them. A value may
    /// be a list a/b/c, a range a/to/b/by/c, or * (any, as if it were left out). Throws invalid_argument for an unknown
    /// keyword or a value that its type does not take; not_found: Selection::is_strict.
    [[nodiscard]] Listing list(std::string_view request = {}, const Selection& selection = {}) const;

    using Receiver = std::function<void(const FieldInfo& field, std::span<const std::byte> bytes)>;
    /// Reads the fields of a listing, neighbours together, several at a time, and hands them to `receive` one after the
    /// other on this thread, in the listing's order. Their checksums are verified: format where one differs.
    void retrieve(const Listing& fields, const Receiver& receive) const;
    /// The one field with this key. not_found where there is none, invalid_argument for a key that may stand for several.
    [[nodiscard]] std::vector<std::byte> retrieve(const Key& key) const;
    /// Part of a field: fills `bytes` from `offset_bytes` of the field on; invalid_argument where that ends beyond it.
    /// Nothing is verified.
    void read(const FieldInfo& field, std::int64_t offset_bytes, std::span<std::byte> bytes) const;

    /// Sees what other writers have flushed since (list and retrieve do so themselves).
    void refresh() const;
    [[nodiscard]] StoreCounters counters() const;
    [[nodiscard]] std::string path() const;
    /// The schema's text.
    [[nodiscard]] std::string schema() const;
    /// Every problem met while reading the indexes, one line each: what `hakobi store check` would say more about.
    [[nodiscard]] std::vector<std::string> warnings() const;
    /// Ends the writer: unflushed fields are dropped, files closed. Throws what closing met; reading stays possible.
    void close();

    struct Impl;
    /// For the library's own parts.
    [[nodiscard]] Impl& impl() const noexcept { return *impl_; }

  private:
    explicit Store(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace hakobi
