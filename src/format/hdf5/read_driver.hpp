#pragma once

#include <hdf5.h>

#include <cstddef>

#include "format/hdf5/driver.hpp"

namespace hakobi::format {

/// An HDF5 file driver for files that are only read: what HDF5 asks for by a few hundred bytes at a time, in some dozens of
/// places, is fetched in blocks, each once. Where a request takes milliseconds that is most of opening a file. Registered
/// while the object lives.
class ReadDriver {
  public:
    static constexpr std::size_t block_bytes = 64 << 10;  // what network file systems fetch for one byte

    ReadDriver();

    /// Negative on failure.
    [[nodiscard]] herr_t use(hid_t file_access) const;

  private:
    RegisteredDriver driver_;
};

}  // namespace hakobi::format
