#pragma once

#include <hdf5.h>

#include "format/hdf5/driver.hpp"
#include "format/hdf5/placement.hpp"
#include "format/hdf5/sparse_image.hpp"

namespace hakobi::format {

/// An HDF5 file driver whose file is a SparseImage: the metadata come into being without a file, so that
/// laying out is pure, and whoever stores them goes through the same storage as everybody else. Registered
/// while the object lives; the image must outlive every file opened with `use`.
class ImageDriver {
  public:
    /// `placement`: says where everything goes, and outlives the files; null: HDF5 appends.
    explicit ImageDriver(Placement* placement = nullptr);

    /// Returns the pointer that a write passes for bytes that somebody else will store: nothing is read from
    /// it, and the image records where the bytes go (SparseImage::leave).
    [[nodiscard]] static const void* somebody_elses();
    /// Makes a file access property list open `image` whatever the name; negative on failure.
    [[nodiscard]] herr_t use(hid_t file_access, SparseImage& image) const;

  private:
    Placement* placement_;
    RegisteredDriver driver_;
};

}  // namespace hakobi::format
