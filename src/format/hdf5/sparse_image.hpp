#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "format/layout.hpp"

namespace hakobi::format {

/// The bytes that HDF5 writes to a file that exists only here: pages where something was written, nothing
/// elsewhere. A file of many GB whose datasets are laid out but not written costs a few pages.
class SparseImage {
  public:
    void write(std::int64_t offset_bytes, std::span<const std::byte> data);
    void read(std::int64_t offset_bytes,
              std::span<std::byte> data) const;  ///< zeros where nothing was written
    /// Records that bytes from `offset_bytes` on are somebody else's; `take_left` returns the offsets in
    /// their order.
    void leave(std::int64_t offset_bytes, std::int64_t length_bytes);
    [[nodiscard]] std::vector<std::int64_t> take_left() { return std::exchange(left_, {}); }
    void set_size(std::int64_t bytes) { size_bytes_ = bytes; }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
    /// The written pages, neighbours joined, in file order, cut at the size.
    [[nodiscard]] std::vector<Extent> extents() const;

  private:
    static constexpr std::int64_t page_bytes = 4096;
    std::map<std::int64_t, std::array<std::byte, page_bytes>> pages_;
    std::int64_t size_bytes_ = 0;
    std::vector<std::int64_t> left_;
};

}  // namespace hakobi::format
