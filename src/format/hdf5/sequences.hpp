#pragma once

#include <hdf5.h>

#include <cstddef>
#include <vector>

namespace hakobi::format {

/// Returns an attribute's sequences of any length (names of dimensions, texts), each element's bytes as in
/// the file. The attribute's type is H5T_VLEN, or a string of any length. Read by HeapCollection, not by
/// HDF5, which copies as many bytes as a damaged file says: HDF5 is made to hand out where the sequences are.
/// Throws Hdf5Failure.
[[nodiscard]] std::vector<std::vector<std::byte>> read_sequences(hid_t attribute, hid_t type);

}  // namespace hakobi::format
