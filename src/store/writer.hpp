#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/forked.hpp"
#include "storage/file.hpp"
#include "store/data_stream.hpp"
#include "store/folder.hpp"
#include "store/format.hpp"

namespace hakobi::store {

/// The fields archived since the last flush.
class PendingFields {
  public:
    void add(const SplitKey& key, std::string_view form, std::int64_t offset, std::int64_t length,
             std::uint64_t checksum);
    [[nodiscard]] std::uint32_t num_fields() const noexcept { return num_fields_; }
    [[nodiscard]] std::vector<std::byte> pack() const;
    void clear();

  private:
    struct TextHash {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept {
            return std::hash<std::string_view>()(text);
        }
    };
    using Codes = std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>>;
    struct Group {
        GroupRows rows;
        std::vector<Codes> codes;
        Codes form_codes;
    };
    std::unordered_map<std::string, std::unique_ptr<Group>> groups_;
    std::string identity_;
    std::uint32_t num_fields_ = 0;
};

/// An index file of our own: records go to its end.
class IndexFile {
  public:
    /// Whether it tells of fields of its own, whose writer's name must be unique among the living.
    enum class Kind { records_of_fields, records_of_others };
    /// Makes the file under its final name with its header in it and our lock on it. Throws exists for a
    /// writer of that name who lives, or where the store is being moved.
    IndexFile(const Folder& folder, std::string_view writer, bool sync, Kind kind = Kind::records_of_fields);
    ~IndexFile();  ///< ends the log where nothing else says that its writer is done
    IndexFile(const IndexFile&) = delete;
    IndexFile& operator=(const IndexFile&) = delete;
    /// Appends records by one write (steps 3 and 4 of format.hpp); their sequence is set here, and the stamp
    /// of those that have none. A stamp that would not rise is made to.
    Status append(std::span<Record> records, bool sync);
    /// Settles what a failed append has left behind the last record: afterwards nothing. An error where it
    /// may still be there.
    Status cut();
    /// Takes the file away: nothing was recorded in it.
    void remove();
    /// No append follows. An error where records may be lost.
    Status close() { return log_->close(); }

    [[nodiscard]] const std::string& stem() const noexcept { return stem_; }
    [[nodiscard]] std::int64_t end_bytes() const noexcept { return end_bytes_; }
    [[nodiscard]] std::uint64_t num_records() const noexcept { return sequence_; }

  private:
    [[nodiscard]] std::vector<std::byte> end_record() const;

    std::string stem_;
    std::uint64_t id_ = 0;
    std::unique_ptr<OwnLog> log_;
    bool is_ended_ = false;  // or needs no end
    std::int64_t end_bytes_ = 0;
    std::uint64_t sequence_ = 0;
    std::int64_t stamp_ns_ = 0;
};

/// A writer: one data file and one index file, made at the first field. One thread at a time.
class Writer {
  public:
    Writer(const Folder& folder, const StoreOptions& options);
    ~Writer();  ///< drops what is not flushed and gives its space back

    void archive(const SplitKey& key, std::string_view form, std::span<const std::byte> bytes);
    /// The fields since the last batch were flushed at this time already, elsewhere; the next flush records
    /// it.
    void end_batch(std::int64_t stamp_ns);
    void flush();
    void close();
    [[nodiscard]] const StoreCounters& counters() const noexcept { return counters_; }
    /// The stem of its files, once it has archived.
    [[nodiscard]] const std::string& stem() const noexcept { return stem_; }
    [[nodiscard]] const Maker& maker() const noexcept { return maker_; }

  private:
    struct Batch {
        std::uint32_t num_fields = 0;
        std::int64_t stamp_ns = 0;  ///< 0: the time of the flush
        std::int64_t data_end_bytes = 0;
        std::vector<std::byte> payload;
    };
    void begin();
    void require_usable() const;
    void fail(Status status);

    const Folder& folder_;
    StoreOptions options_;
    StoreCounters counters_;
    std::string stem_;
    std::unique_ptr<IndexFile> index_;
    std::unique_ptr<DataStream> data_;
    PendingFields pending_;
    std::vector<Batch> batches_;
    std::int64_t committed_bytes_ = 0;  // of the data file
    bool is_failed_ = false;
    bool is_closed_ = false;
    Maker maker_;
};

}  // namespace hakobi::store
