#pragma once

#include <hdf5.h>

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace hakobi::format {

/// Reads the block [start, start + count) of a data set in filtered chunks, which this process fetches and
/// unpacks by itself: only those that the block touches. `values` gets the elements, of `element_bytes`, in C
/// order. Nothing where only the HDF5 library can read the data set: other filters than shuffle, deflate and
/// zstd, or another type in the file. unsupported, naming the filter, where that library has not got it
/// either; format for a damaged chunk. Throws Hdf5Failure.
std::optional<Status> read_chunks(hid_t dataset, const std::string& path, hid_t native_type,
                                  std::span<const hsize_t> start, std::span<const hsize_t> count,
                                  std::span<std::byte> values);

}  // namespace hakobi::format
