#pragma once

#include <hdf5.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

namespace hakobi::format {

/// The bytes that HDF5 writes to a file that exists only here: pages where something was written, nothing elsewhere.
/// A file of many GB whose datasets are laid out but not written costs a few pages.
class SparseImage {
  public:
    struct Extent {
        std::int64_t offset_bytes = 0;
        std::vector<std::byte> bytes;
    };

    void write(std::int64_t offset_bytes, std::span<const std::byte> data);
    void read(std::int64_t offset_bytes, std::span<std::byte> data) const;  ///< zeros where nothing was written
    void set_size(std::int64_t bytes) { size_bytes_ = bytes; }
    [[nodiscard]] std::int64_t size_bytes() const noexcept { return size_bytes_; }
    /// The written pages, neighbours joined, in file order, cut at the size.
    [[nodiscard]] std::vector<Extent> extents() const;

  private:
    static constexpr std::int64_t page_bytes = 4096;
    std::map<std::int64_t, std::array<std::byte, page_bytes>> pages_;
    std::int64_t size_bytes_ = 0;
};

/// An HDF5 file driver whose file is a SparseImage: the metadata come into being without a file, so that laying out
/// is pure, and whoever stores them goes through the same storage as everybody else. Registered while the object
/// lives; the image must outlive every file opened with `use`.
class ImageDriver {
  public:
    ImageDriver();
    ~ImageDriver();
    ImageDriver(const ImageDriver&) = delete;
    ImageDriver& operator=(const ImageDriver&) = delete;

    /// Makes a file access property list open `image` whatever the name; negative on failure.
    [[nodiscard]] herr_t use(hid_t file_access, SparseImage& image) const;

  private:
    hid_t id_;
};

}  // namespace hakobi::format
