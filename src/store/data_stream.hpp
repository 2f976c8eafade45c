#pragma once

#include <condition_variable>
#include <cstdint>
#include <hakobi/store.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "base/checksum.hpp"
#include "base/mapping.hpp"
#include "storage/access.hpp"

namespace hakobi::store {

/// Appends to a data file. Asynchronous: bytes are copied into buffers, which I/O threads write while the
/// caller goes on; large fields are written from the caller's own memory as long as the storage takes them
/// without making anybody wait (a page cache), since a copy would only cost. Not asynchronous: all are. One
/// thread at a time.
class DataStream {
  public:
    /// `file` is empty. With `most_object_bytes` every write is an object, and no field lies in two (O1 of
    /// format.hpp); the stream is then asynchronous, since a field by itself makes too small an object.
    /// Throws out_of_memory, invalid_argument.
    DataStream(storage::FilePtr file, std::int64_t most_object_bytes, const StoreOptions& options,
               StoreCounters& counters);
    ~DataStream();

    /// Where the next byte goes, in the file.
    [[nodiscard]] std::int64_t end_bytes() const noexcept { return end_bytes_; }
    /// Brings the end to where a field of this length may begin: appends zeros up to the next multiple of
    /// `pad_bytes`, or begins an object (which is not padded).
    Status begin_field(std::int64_t length_bytes, std::int64_t pad_bytes);
    /// Appends; `checksum` is that of `bytes`. Returns errors that the I/O threads met earlier.
    Status append(std::span<const std::byte> bytes, std::uint64_t& checksum);
    /// Returns when all of it is written.
    Status drain();
    storage::File& file() noexcept { return *file_; }

  private:
    /// Filled by the caller or written by an I/O thread: free where it is neither.
    struct Buffer {
        DataStream* stream = nullptr;
        Mapping memory;
        std::int64_t begin_bytes = 0;    ///< file offset of the memory's first byte, aligned
        std::int64_t skipped_bytes = 0;  ///< of the memory, before what it holds
        std::int64_t filled_bytes = 0;   ///< of the memory, up to the end of what it holds
        bool is_free = true;
        storage::Request request;
    };
    [[nodiscard]] bool makes_objects() const noexcept { return most_object_bytes_ > 0; }
    Status pad_to(std::int64_t multiple);
    Status begin_in_object(std::int64_t length_bytes);
    Status fill(std::span<const std::byte> bytes);
    Status next_buffer();
    void leave_buffer();
    void finish(Buffer& buffer);
    [[nodiscard]] bool goes_through(std::int64_t length_bytes) const;
    Status write_through(std::span<const std::byte> bytes);

    StoreCounters& counters_;
    std::int64_t most_object_bytes_;
    bool is_direct_;
    storage::FilePtr file_;
    std::vector<Buffer> buffers_;
    Buffer* current_ = nullptr;
    std::int64_t end_bytes_ = 0;
    Checksum checksum_;

    std::mutex mutex_;  // for status_, counters_ and the buffers' is_free
    std::condition_variable is_written_;
    Status status_;
    std::unique_ptr<storage::Access> access_;  // ends before the buffers that its threads use
};

}  // namespace hakobi::store
