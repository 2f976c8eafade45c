#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace hakobi::overview {

/// Writes all bytes at a place of a file.
Status write_all(int fd, std::span<const std::byte> bytes, std::int64_t offset_bytes);
[[nodiscard]] std::span<const std::byte> bytes_of(std::string_view text);

/// One file of the store: where its bytes are.
struct Entry {
    std::string name;
    std::int64_t header_bytes = 0, offset_bytes = 0, num_bytes = 0;
};

/// The ZIP file that an overview is: entries as they are, one behind the
/// other, each with a ZIP64 extra field. Calls in order; the first failure is kept and told by `finish`.
class Container {
  public:
    explicit Container(int fd) : fd_(fd) {}
    /// A place for an entry whose bytes come later.
    Entry reserve(std::string name, std::int64_t num_bytes);
    /// The header of an entry whose bytes are in place.
    void complete(const Entry& entry, std::uint32_t crc32);
    /// An entry whose bytes are known.
    void add(std::string name, std::span<const std::byte> bytes);
    void put(std::span<const std::byte> bytes, std::int64_t offset_bytes) {
        status_.keep_first(write_all(fd_, bytes, offset_bytes));
    }
    /// The directory, with which the file is whole.
    Status finish();

  private:
    int fd_;
    std::int64_t end_ = 0;
    std::string directory_;
    std::uint64_t num_entries_ = 0;
    Status status_;
};

}  // namespace hakobi::overview
