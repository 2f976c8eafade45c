#pragma once

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "format/found_step.hpp"
#include "format/hdf5/driver.hpp"
#include "format/hdf5/global_heap.hpp"

namespace hakobi::format {

/// An HDF5 file driver for files that are only read: what HDF5 asks for by a few hundred bytes at a time, in
/// some dozens of places, is fetched in blocks, each once. Where a request takes milliseconds that is most of
/// opening a file. HDF5 gets no damaged collection of sequences (global_heap.hpp), nor a header that names a
/// damaged list of sources (virtual_list.hpp): reading it fails.
/// Registered while the object lives.
class ReadDriver {
  public:
    static constexpr std::size_t block_bytes = 64 << 10;  // what network file systems fetch for one byte

    ReadDriver();

    /// Negative on failure.
    [[nodiscard]] herr_t use(hid_t file_access) const;

    /// The collection at an address of the file that `object` is in, by the same blocks; nothing where it is
    /// damaged.
    static std::optional<HeapCollection> read_collection(hid_t object, std::uint64_t address);
    /// The size of that file in bytes.
    static std::int64_t size_of(hid_t object);
    /// The bytes that were read of a file until now, in order and apart; none where HDF5 has opened another
    /// file since it opened this one.
    static std::vector<FileRange> ranges_read(hid_t file);

  private:
    RegisteredDriver driver_;
};

}  // namespace hakobi::format
