#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "storage/file.hpp"
#include "store/catalogue.hpp"
#include "store/folder.hpp"

namespace hakobi::store {

/// Keeps a catalogue up to date with the indexes in a store's folder. Thread-safe.
class IndexReader {
  public:
    explicit IndexReader(const Folder& folder) : folder_(folder) {}

    /// The catalogue with everything that was flushed before the call. A catalogue returned earlier may be
    /// another object: it stays as it is where fields were wiped. Throws unsupported (a newer version's
    /// index), io, permission.
    std::shared_ptr<const Catalogue> refreshed();
    /// The same, read from the indexes alone: what a consolidated catalogue says is not believed.
    std::shared_ptr<const Catalogue> reread();

    /// The records that were passed over, one line each.
    [[nodiscard]] std::vector<std::string> warnings() const;

  private:
    struct Source {
        WriterFiles files;            ///< by the last look that listed it
        storage::FilePtr file;        ///< open while its writer lives, where there is a file
        bool is_read = false;         ///< in this look
        bool is_known = false;        ///< `number` is set: its header was read, or a catalogue knows it
        std::uint32_t number = 0;     ///< in Catalogue::files
        std::int64_t end_bytes = 0;   ///< of the last whole record; 0: not even the header was read
        std::int64_t seen_bytes = 0;  ///< the log's size when it was read last
        bool is_final = false;        ///< its writer is dead
    };
    struct Tail {
        std::string stem;
        std::vector<std::byte> bytes;
    };
    enum class Base { catalogue, indexes };
    bool update();
    [[nodiscard]] FolderContents look() const;
    [[nodiscard]] int num_threads() const;  ///< that ask for two things at once
    bool read_folder(FolderContents contents, std::vector<Tail>& tails);
    enum class Names { known, some_new, one_missing };
    Names take_names(FolderContents contents);
    bool read_tails(std::vector<Tail>& tails);
    void begin_source(const WriterFiles& files);
    bool begin_log(Source& source, std::span<const std::byte> bytes);
    void rebuild(Base base);
    bool apply(std::vector<Tail>& tails);
    void warn(std::string text);
    void sort();

    const Folder& folder_;
    mutable std::mutex mutex_;
    std::shared_ptr<Catalogue> catalogue_;
    std::map<std::string, Source> sources_;  // by stem
    std::set<std::string> passed_over_;      // stems of indexes that cannot be read
    std::set<std::string> gone_;             // stems of logs that were listed, but gone: no name comes back
    std::set<std::string> listed_;           // stems of all indexes at the last look
    std::map<std::uint64_t, std::set<std::int64_t>> wiped_;  // offsets by data file
    std::set<std::uint64_t> wiped_files_;
    struct {
        std::shared_ptr<Catalogue> catalogue;
        std::int64_t num_rows = 0;
    } sorted_;                      // whose orders are up to date, when it had so many rows
    std::int64_t place_stamp_ = 0;  // Place::has_changed
    std::set<std::string> warnings_;
};

}  // namespace hakobi::store
