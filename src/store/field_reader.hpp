#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "storage/file.hpp"
#include "store/folder.hpp"
#include "store/listing.hpp"

namespace hakobi::store {

/// A field to be read: where it lies, and where in a window's memory it goes.
struct FieldPlace {
    std::uint32_t file = 0;
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;
    std::uint64_t checksum = 0;
};

/// One read: neighbouring fields of one file with what lies between them.
struct Chunk {
    std::uint32_t file = 0;
    std::int64_t offset_bytes = 0;
    std::int64_t length_bytes = 0;
    std::vector<std::size_t> fields;  ///< numbers in the list that was planned
};

/// Reads to make for these fields, by file and offset: fields with at most `gap_bytes` between them go
/// together, until a chunk has `most_bytes` (a larger field is a chunk of its own). Pure.
std::vector<Chunk> plan_chunks(std::span<const FieldPlace> fields, std::int64_t gap_bytes,
                               std::int64_t most_bytes);

/// Reads fields from data files. Thread-safe.
class FieldReader {
  public:
    FieldReader(const Folder& folder, int num_threads) : place_(folder.place()), num_threads_(num_threads) {}

    /// Hands every field of the listing to `receive`, in its order, on this thread; memory is bounded by
    /// windows of the listing. Throws format (a checksum differs, the file is short), not_found (removed
    /// meanwhile), io.
    void read_all(const Listing::Impl& listing, const Store::Receiver& receive);
    /// One whole field, verified, or a part of it, not verified.
    void read_field(const Catalogue& catalogue, RowReference reference, std::vector<std::byte>& bytes);
    void read_part(const std::string& path, std::int64_t offset_bytes, std::span<std::byte> bytes);
    /// The bytes of a chunk.
    void read_chunk(const Catalogue& catalogue, const Chunk& chunk, std::vector<std::byte>& bytes);

  private:
    std::shared_ptr<storage::File> open(const std::string& path);
    void read_window(const Catalogue& catalogue, std::span<const FieldPlace> places,
                     std::vector<std::vector<std::byte>>& memory,
                     std::vector<std::span<const std::byte>>& fields);

    Place& place_;
    int num_threads_;
    std::mutex mutex_;
    std::map<std::string, std::shared_ptr<storage::File>> open_files_;
};

}  // namespace hakobi::store
