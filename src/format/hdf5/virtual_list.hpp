#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/hdf5/global_heap.hpp"

namespace hakobi::format {

/// How a file counts, by its superblock.
struct FileCounts {
    int address_bytes = 0, length_bytes = 0;  ///< that one takes; 0: there is no superblock
    std::int64_t base = 0;                    ///< what addresses count from
};

/// Whether the object header at `offset_bytes` names a list of a virtual data set's sources that is not
/// whole. HDF5 (1.10.8) decodes such a list as soon as it has the header, and looks at its checksum last:
/// where the number of sources is damaged it loops for hours, and where the heap has no such object it
/// crashes ("HDF5 File Format Specification Version 3.0", IV.A and VII.A). False for bytes that are no
/// header. Pure code.
[[nodiscard]] bool has_damaged_list(const ReadBytes& read, std::int64_t offset_bytes, std::int64_t file_bytes,
                                    const FileCounts& counts);

/// The checksum of HDF5's metadata (B. Jenkins, lookup3.c, 2006: hashlittle). Pure.
[[nodiscard]] std::uint32_t metadata_checksum(std::span<const std::byte> bytes);

}  // namespace hakobi::format
